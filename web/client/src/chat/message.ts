/** Messages of a Toolyard server: those of the AI SDK, with additional data parts. */

import type { UIMessage } from 'ai';

/** Which app a server-side call belongs to. */
export interface ToolData {
  toolCallId: string;
  /** `package:tool` */
  name: string;
  title?: string;
  app?: string;
  /** URL of its icon. */
  icon?: string;
}

/** Progress of a call, on the server or in this client. Transient: it is passed to `onData` and not stored. */
export interface ProgressData {
  toolCallId: string;
  progress: number;
  total?: number;
  message?: string;
}

/** A call waits until the user has signed in at its upstream. Transient, and only for clients that show approvals. */
export interface SignInData {
  toolCallId: string;
  /** The upstream's package. */
  packageName: string;
  /** Its name for people. */
  name: string;
  /** The page where the user signs in. */
  url: string;
}

/** Why an answer ends early, or a problem that did not stop it. */
export interface NoticeData {
  /** From the server: `steps`, `tokens`, `time`. From this client: {@link NOTICE_TOOL_ROUNDS}, {@link NOTICE_HOOK}. */
  code: string;
  /** Text for the user. */
  message: string;
}

/** The data parts of an answer. A type instead of an interface, because the AI SDK requires an index signature. */
export type ToolyardData = { tool: ToolData; progress: ProgressData; 'sign-in': SignInData; notice: NoticeData };

/** A message. */
export type ToolyardMessage = UIMessage<unknown, ToolyardData>;

/** Notice code: tools were not run because the limit on rounds was reached. */
export const NOTICE_TOOL_ROUNDS = 'tool-rounds';
/** Notice code: a plugin's `afterResponse` failed. */
export const NOTICE_HOOK = 'hook';
