/** What calls that run side by side have to say, until somebody takes it. */

import type { UIMessageChunk } from 'ai';

import { cutText } from '../json.js';

/** Most reports of one call that wait. The last one always does; those in the middle are lost. */
export const PROGRESS_QUEUE = 16;
/** Longest message of a report, in characters. */
export const MAX_PROGRESS_CHARS = 500;

/** Chunks that wait to be told. */
export class Outbox {
  #chunks: UIMessageChunk[] = [];
  #reports = new Map<string, UIMessageChunk[]>();
  #wake: () => void = () => {};

  /** A call says how far it is. */
  progress(callId: string, done: number, total?: number, message?: string): void {
    const data = {
      toolCallId: callId,
      progress: Number.isFinite(done) ? done : 0,
      ...(Number.isFinite(total) && { total }),
      ...(message !== undefined && { message: cutText(String(message), MAX_PROGRESS_CHARS) }),
    };
    const reports = this.#reports.get(callId) ?? [];
    if (reports.length === PROGRESS_QUEUE) reports.pop();
    reports.push({ type: 'data-progress', transient: true, data });
    this.#reports.set(callId, reports);
    this.#wake();
  }

  /** A call is over. */
  result(callId: string, output: unknown): void {
    this.#chunks.push(...(this.#reports.get(callId) ?? []), {
      type: 'tool-output-available',
      toolCallId: callId,
      output,
    });
    this.#reports.delete(callId);
    this.#wake();
  }

  /** Takes what is there. */
  take(): UIMessageChunk[] {
    const chunks = [...[...this.#reports.values()].flat(), ...this.#chunks];
    this.#reports.clear();
    this.#chunks = [];
    return chunks;
  }

  /** Ends when there is something, or when nobody wants it any more. */
  async filled(signal: AbortSignal): Promise<void> {
    if (this.#chunks.length > 0 || this.#reports.size > 0 || signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      signal.addEventListener('abort', this.#wake);
    });
    signal.removeEventListener('abort', this.#wake);
    this.#wake = () => {};
  }
}
