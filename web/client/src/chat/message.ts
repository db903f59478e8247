/** Messages as a server of ours tells them: those of the AI SDK, with data parts of our own. */

import type { UIMessage } from 'ai';

/** Which app a call of the server belongs to. */
export interface ToolData {
  toolCallId: string;
  /** `package:tool` */
  name: string;
  title?: string;
  app?: string;
  /** Where its picture is. */
  icon?: string;
}

/** How far a call is, of the server or of this client. Transient: it reaches `onData` and is not kept. */
export interface ProgressData {
  toolCallId: string;
  progress: number;
  total?: number;
  message?: string;
}

/** Why an answer ends before it is through, or what went wrong beside it. */
export interface NoticeData {
  /** Of the server: `steps`, `tokens`, `time`. Of this client: {@link NOTICE_TOOL_ROUNDS}, {@link NOTICE_HOOK}. */
  code: string;
  /** For people. */
  message: string;
}

/** The data parts of an answer. A type and not an interface, as the AI SDK asks for an index. */
export type ToolyardData = { tool: ToolData; progress: ProgressData; notice: NoticeData };

/** A message. */
export type ToolyardMessage = UIMessage<unknown, ToolyardData>;

/** A notice's code: tools were not run, because the limit of rounds was reached. */
export const NOTICE_TOOL_ROUNDS = 'tool-rounds';
/** A notice's code: a plugin's `afterResponse` failed. */
export const NOTICE_HOOK = 'hook';
