/** What the page measures and hears of calls beside the messages: how long they took, and how far they are. */
import type { ProgressData } from '@toolyard/client';
import type { UIMessageChunk } from 'ai';

export class CallNotes {
  #begun = new Map<string, number>();
  #progress: ReadonlyMap<string, ProgressData> = new Map();
  #durations: Readonly<Record<string, number>>;
  #listeners = new Set<() => void>();

  constructor(durations: Record<string, number>) {
    this.#durations = durations;
  }

  durations = () => this.#durations;
  progress = () => this.#progress;

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** A call begins to run; the last word counts. */
  begin(callId: string): void {
    this.#begun.set(callId, performance.now());
  }

  hear(data: ProgressData): void {
    this.#progress = new Map(this.#progress).set(data.toolCallId, data);
    this.#tell();
  }

  /** The same stream, looked at on its way. */
  watch(stream: ReadableStream<UIMessageChunk>): ReadableStream<UIMessageChunk> {
    const look = new TransformStream<UIMessageChunk, UIMessageChunk>({
      transform: (chunk, out) => {
        if (chunk.type === 'tool-input-available') this.begin(chunk.toolCallId);
        if (chunk.type === 'tool-output-available' || chunk.type === 'tool-output-error') this.#end(chunk.toolCallId);
        out.enqueue(chunk);
      },
    });
    return stream.pipeThrough(look);
  }

  #end(callId: string): void {
    const begun = this.#begun.get(callId);
    // What is told again after a reload took no time; what was measured before holds.
    if (begun === undefined || this.#durations[callId] !== undefined) return;
    this.#durations = { ...this.#durations, [callId]: performance.now() - begun };
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
