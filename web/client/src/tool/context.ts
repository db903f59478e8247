/** What a tool gets with a call. */

/** One call, as the tool sees it. */
export interface ToolContext {
  /** The call, as the model numbers it. */
  readonly callId: string;
  /** The tool, as the model calls it. */
  readonly tool: string;
  /** Aborted when nobody waits for the result any more: the time is up, or the user stopped the answer. */
  readonly signal: AbortSignal;
  /** Tells the user how far it is: so much done, of so much if known, and in words. Never waits. */
  progress(done: number, total?: number, message?: string): void;
}

/** A call that nobody watches, as in tests of a tool. */
export function unwatched(callId: string, tool: string): ToolContext {
  return { callId, tool, signal: new AbortController().signal, progress: () => {} };
}
