/** The options with which a chat of the AI SDK uses the tools and plugins of a manager. */

import { lastAssistantMessageIsCompleteWithToolCalls, type ChatTransport, type UIMessage } from 'ai';

import type { PluginManager } from '../plugin/manager.js';
import type { ToolyardMessage } from './message.js';
import type { OnToolCall } from './run.js';
import { PluginTransport } from './transport.js';

/** Settings of a chat. */
export interface ChatSettings<M extends UIMessage = ToolyardMessage> {
  /** The server, such as `https://tools.example.com`. Default: the origin of the page. */
  url?: string;
  /** The user's token, or a function that returns it before each request. Hooks never see it. */
  token?: string | (() => string | PromiseLike<string>);
  /** The user's name, if the server is in dev mode. */
  user?: string;
  /** The model. Default: the server's choice. `body` of a request can override this setting and the next three. */
  model?: string;
  /** Instructions for the model. */
  system?: string;
  /** Only server tools in these categories. */
  categories?: readonly string[];
  /** Maximum number of model requests in one response, up to the server's limit. */
  maxSteps?: number;
  /** Whether the server continues answers without a reader for a while, so that they can be resumed after a reload. */
  resumable?: boolean;
  /**
   * Maximum number of requests between two messages of the user. Default: 5. After the last one, tools that the model calls are not run,
   * and the answer ends with a notice, so with 1 no tool runs. **0 means no limit**; the server has its own limit.
   */
  maxToolRounds?: number;
  /** Timeout of a tool in milliseconds. Default: 30 seconds. Time that `onToolCall` waits is included. */
  toolTimeout?: number;
  /** Called for each call of this client instead of hooks and executors: to confirm, deny, observe or redirect it. */
  onToolCall?: OnToolCall;
  /** The initial messages, as the page has stored them. An answer that is resumed after a reload continues from there. */
  messages?: M[];
  /** Replaces the global `fetch`. */
  fetch?: typeof globalThis.fetch;
  credentials?: RequestCredentials;
}

/** The options of `new Chat({ … })` and `useChat({ … })`. */
export interface ChatOptions<M extends UIMessage> {
  transport: ChatTransport<M>;
  sendAutomaticallyWhen: (options: { messages: M[] }) => boolean;
  messages?: M[];
}

/** Creates the options of a chat with the tools and plugins of a manager. Call it once for each chat, not at each render. */
export function createChatOptions<M extends UIMessage = ToolyardMessage>(
  plugins: PluginManager,
  settings: ChatSettings<M> = {},
): ChatOptions<M> {
  return {
    transport: new PluginTransport<M>(plugins, settings),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    ...(settings.messages && { messages: settings.messages }),
  };
}
