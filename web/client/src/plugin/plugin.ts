/** A plugin: tools and hooks that are added and removed together. */

import type { UIMessage } from 'ai';

import type { ChatAnswer } from '../chat/answer.js';
import type { ToolCall } from '../tool/call.js';
import type { ToolContext } from '../tool/context.js';
import type { ClientToolDefinition, Tool, ToolExecutor } from '../tool/definition.js';

/**
 * A request before it is sent. Changes apply to this request only: the messages of the chat stay unchanged, and the next request starts
 * from them again. It contains no secrets: neither the token nor the user.
 */
export interface RequestDraft {
  /** The conversation. A copy: changes have no other effect. */
  messages: UIMessage[];
  /** Instructions for the model. */
  system?: string | undefined;
  /** The model. Undefined: the server's choice. */
  model?: string | undefined;
  /** Only server tools in these categories. Empty: all. */
  categories: string[];
  /** The offered tools of this client. They can be removed; added or changed tools are not sent. */
  tools: ClientToolDefinition[];
  /** The number of the request since the last message of the user, from 1. */
  readonly round: number;
}

/** The tools of one plugin. The plugin can change them while it is registered. */
export interface PluginTools {
  /** The tools that the plugin offers now. */
  get(): Tool[];
  /** Replaces all tools, or none if one is invalid. Requests in progress keep the previous tools. */
  replace(tools: readonly Tool[]): void;
}

/**
 * What a plugin can do besides running its tools. Hooks of several plugins run in the order of registration. A hook that throws or
 * exceeds its timeout has failed.
 */
export interface Hooks {
  /** Called at registration. It can set the tools now and later. If it fails, the plugin is not registered. */
  onRegister?(tools: PluginTools): void | PromiseLike<void>;
  /**
   * Called before each request of a chat, including those with tool results. Returns the draft, or nothing if it changed the draft in
   * place. The next plugin sees the changes. If it fails, the chat ends with an error that names the plugin.
   */
  beforeRequest?(draft: RequestDraft): RequestDraft | void | PromiseLike<RequestDraft | void>;
  /** Called once for each successful answer, after all rounds. If it fails, the user gets a notice in addition to the answer. */
  afterResponse?(answer: ChatAnswer): void | PromiseLike<void>;
  /** Runs a call of a tool of this plugin. `undefined` leaves it to the tool's executor. */
  onToolCall?(call: ToolCall, cx: ToolContext): unknown;
  /** Called when the plugin was removed. Its tools are no longer offered. */
  onUnregister?(): void | PromiseLike<void>;
}

/** A plugin. */
export interface Plugin {
  /** Unique among the plugins of a manager. */
  name: string;
  version: string;
  /** Its tools. Each has an executor, or the plugin has the hook `onToolCall`. */
  tools?: readonly ClientToolDefinition[];
  /** The functions by tool name. */
  executors?: Readonly<Record<string, ToolExecutor>>;
  hooks?: Hooks;
}
