/** Progress and results of concurrent calls, until they are read. */

import type { UIMessageChunk } from 'ai';

import { truncateText } from '../json.js';

/** Maximum number of queued progress reports of one call. The last one is always kept; intermediate ones are dropped. */
export const PROGRESS_QUEUE = 16;
/** Longest progress message in characters. */
export const MAX_PROGRESS_CHARS = 500;

/** Chunks that wait to be sent. */
export class Outbox {
  #chunks: UIMessageChunk[] = [];
  #reports = new Map<string, UIMessageChunk[]>();
  #wake: () => void = () => {};

  /** Reports the progress of a call. */
  progress(callId: string, done: number, total?: number, message?: string): void {
    const data = {
      toolCallId: callId,
      progress: Number.isFinite(done) ? done : 0,
      ...(Number.isFinite(total) && { total }),
      ...(message !== undefined && { message: truncateText(String(message), MAX_PROGRESS_CHARS) }),
    };
    const reports = this.#reports.get(callId) ?? [];
    if (reports.length === PROGRESS_QUEUE) reports.pop();
    reports.push({ type: 'data-progress', transient: true, data });
    this.#reports.set(callId, reports);
    this.#wake();
  }

  /** Records the result of a call. */
  result(callId: string, output: unknown): void {
    this.#chunks.push(...(this.#reports.get(callId) ?? []), {
      type: 'tool-output-available',
      toolCallId: callId,
      output,
    });
    this.#reports.delete(callId);
    this.#wake();
  }

  /** Removes and returns all queued chunks. */
  take(): UIMessageChunk[] {
    const chunks = [...[...this.#reports.values()].flat(), ...this.#chunks];
    this.#reports.clear();
    this.#chunks = [];
    return chunks;
  }

  /** Resolves when there is something to take, or when the signal is aborted. */
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
