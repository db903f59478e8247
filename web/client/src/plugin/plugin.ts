/** A plugin: tools and hooks that come and go together. */

import type { UIMessage } from 'ai';

import type { Answer } from '../chat/answer.js';
import type { ToolCall } from '../tool/call.js';
import type { ToolContext } from '../tool/context.js';
import type { ClientToolDefinition, Tool, ToolExecutor } from '../tool/definition.js';

/**
 * A request before it goes out. What is changed here holds for this one request: the messages of the chat stay as they are,
 * and the next request begins from them again. There is no secret in it: neither the token nor the user.
 */
export interface Draft {
  /** The conversation. A copy: whoever changes it changes nothing else. */
  messages: UIMessage[];
  /** How the model shall behave. */
  system?: string | undefined;
  /** Which model; none is the server's choice. */
  model?: string | undefined;
  /** Only tools of the server in these categories; none is all. */
  categories: string[];
  /** The tools of this client that are offered. They can be taken out; what is added or changed is not sent. */
  tools: ClientToolDefinition[];
  /** Which request since the last message of the user it is, from 1. */
  readonly round: number;
}

/** The tools of one plugin, which it may change while it is registered. */
export interface OwnTools {
  /** What the plugin offers now. */
  get(): Tool[];
  /** Offers these instead, all or none. Requests under way keep what they had. */
  replace(tools: readonly Tool[]): void;
}

/**
 * What a plugin may do beside running its tools. Hooks of several plugins run in the order of registration. A hook has a
 * time limit; one that takes longer or throws has failed.
 */
export interface Hooks {
  /** The plugin is registered; its tools may be set now, and later. If it fails, nothing of the plugin stays behind. */
  onRegister?(tools: OwnTools): void | PromiseLike<void>;
  /**
   * Before each request of a chat, the first and those that carry results of tools. Gives back the draft, or nothing if it
   * changed the one it got; the next plugin sees the change. If it fails, the chat ends with an error that names the plugin.
   */
  beforeRequest?(draft: Draft): Draft | void | PromiseLike<Draft | void>;
  /** Once for each answer that ends well, after all rounds. If it fails, the user gets a notice, and still the answer. */
  afterResponse?(answer: Answer): void | PromiseLike<void>;
  /** A tool of this plugin is called. `undefined` leaves it to the tool's executor. */
  onToolCall?(call: ToolCall, cx: ToolContext): unknown;
  /** The plugin goes. Its tools are not offered any more. */
  onUnregister?(): void | PromiseLike<void>;
}

/** A plugin. */
export interface Plugin {
  /** Of its own among all plugins of a manager. */
  name: string;
  version: string;
  /** What it offers. Each has an executor, or the plugin has the hook `onToolCall`. */
  tools?: readonly ClientToolDefinition[];
  /** The functions, by the name of the tool. */
  executors?: Readonly<Record<string, ToolExecutor>>;
  hooks?: Hooks;
}
