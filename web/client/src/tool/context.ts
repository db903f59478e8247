/** The context of a tool call. */

/** One call, as the tool sees it. */
export interface ToolContext {
  /** The id of the call. */
  readonly callId: string;
  /** The tool name, as the model uses it. */
  readonly tool: string;
  /** Aborted when the result is no longer needed: after the timeout, or when the user stopped the answer. */
  readonly signal: AbortSignal;
  /** Reports progress to the user: the amount done, the total if known, and a message. Never blocks. */
  progress(done: number, total?: number, message?: string): void;
}

/** A context that reports to nobody, for tests of a tool. */
export function detachedContext(callId: string, tool: string): ToolContext {
  return { callId, tool, signal: new AbortController().signal, progress: () => {} };
}
