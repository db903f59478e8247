/**
 * Tools and plugins of a page, for chats with a Toolyard server over the AI SDK.
 *
 * | look for | in |
 * | --- | --- |
 * | plugins, and tools without one | `plugin/manager` |
 * | the options of a chat | `chat/options`, `chat/transport` |
 * | what happens in a response | `chat/respond`, `chat/run` |
 * | plugins that ship | `plugins` |
 */

export type { ChatAnswer, CallResult } from './chat/answer.js';
export { TruncatedError, HookError, RefusedError, type Problem } from './chat/error.js';
export {
  NOTICE_HOOK,
  NOTICE_TOOL_ROUNDS,
  type NoticeData,
  type ProgressData,
  type SignInData,
  type ToolData,
  type ToolyardData,
  type ToolyardMessage,
} from './chat/message.js';
export { createChatOptions, type ChatOptions, type ChatSettings } from './chat/options.js';
export { MAX_PROGRESS_CHARS, PROGRESS_QUEUE } from './chat/outbox.js';
export { MAX_AT_ONCE, MAX_RESULT_BYTES, type CallRun, type OnToolCall } from './chat/run.js';
export { MAX_TOOL_ROUNDS, TOOL_TIMEOUT } from './chat/transport.js';
export { PluginError, type PluginErrorCode } from './plugin/error.js';
export type { Log } from './plugin/log.js';
export { HOOK_TIMEOUT, PluginManager, REGISTER_TIMEOUT, type ManagerSettings } from './plugin/manager.js';
export type { RequestDraft, Hooks, PluginTools, Plugin } from './plugin/plugin.js';
export { clipboardPlugin } from './plugins/clipboard.js';
export { pagePlugin, type PageOptions } from './plugins/page.js';
export { selectionPlugin } from './plugins/selection.js';
export { argumentsOf, readCall, type ToolCall } from './tool/call.js';
export { detachedContext, type ToolContext } from './tool/context.js';
export type { ClientToolDefinition, JsonSchema, Tool, ToolArguments, ToolExecutor } from './tool/definition.js';
export { CLIENT_TOOL_LIMITS, type ClientToolLimits } from './tool/rules.js';
