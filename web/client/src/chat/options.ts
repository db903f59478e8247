/** What a chat of the AI SDK needs to use the tools and plugins of a manager. */

import { lastAssistantMessageIsCompleteWithToolCalls, type ChatTransport, type UIMessage } from 'ai';

import type { PluginManager } from '../plugin/manager.js';
import type { ToolyardMessage } from './message.js';
import type { OnToolCall } from './run.js';
import { PluginTransport } from './transport.js';

/** How a chat talks to its server. */
export interface ChatSettings<M extends UIMessage = ToolyardMessage> {
  /** The server, as `https://tools.example.com`; without it, the origin of the page. */
  url?: string;
  /** The token of the user, or a function that gets it before each request. Hooks never see it. */
  token?: string | (() => string | PromiseLike<string>);
  /** Names the user where the server is in dev mode. */
  user?: string;
  /** Which model; without it the server chooses. `body` of a request may say otherwise, here and in the next three. */
  model?: string;
  /** How the model shall behave. */
  system?: string;
  /** Only tools of the server in these categories. */
  categories?: readonly string[];
  /** Most questions to the model in one response, within the server's own bound. */
  maxSteps?: number;
  /** Whether answers go on for a while without a reader, to be heard again after a reload. */
  resumable?: boolean;
  /**
   * Most requests between two messages of the user, 5 unless said otherwise. After the last one, tools that the model wants
   * are not run, and the answer ends with a notice; so with 1 no tool runs. **0 means no limit**; the server has one of its
   * own.
   */
  maxToolRounds?: number;
  /** How long a tool may run, in milliseconds, 30 seconds unless said otherwise. What `onToolCall` waits for counts. */
  toolTimeout?: number;
  /** Asked about each call of this client, in place of hooks and executors: to confirm, forbid, watch or redirect it. */
  onToolCall?: OnToolCall;
  /** What the chat begins with: what a page has kept. An answer that is heard again after a reload goes on from there. */
  messages?: M[];
  /** In place of the global one. */
  fetch?: typeof globalThis.fetch;
  credentials?: RequestCredentials;
}

/** What `new Chat({ … })` and `useChat({ … })` take. */
export interface ChatOptions<M extends UIMessage> {
  transport: ChatTransport<M>;
  sendAutomaticallyWhen: (options: { messages: M[] }) => boolean;
  messages?: M[];
}

/** The options of a chat with the tools and plugins of a manager. Made once for each chat, and not at each rendering. */
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
