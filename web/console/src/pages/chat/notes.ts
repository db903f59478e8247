/** Duration and progress of calls, and the sign-in that they wait for, which are not part of the messages. */
import type { ProgressData } from '@toolyard/client';
import type { UIMessageChunk } from 'ai';
import type { SignInRequest } from './sign-in-data';

export class CallNotes {
  #begun = new Map<string, number>();
  #progress: ReadonlyMap<string, ProgressData> = new Map();
  #signIns: ReadonlyMap<string, SignInRequest> = new Map();
  #durations: Readonly<Record<string, number>>;
  #listeners = new Set<() => void>();

  constructor(durations: Record<string, number>) {
    this.#durations = durations;
  }

  durations = () => this.#durations;
  progress = () => this.#progress;
  signIns = () => this.#signIns;

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** A call starts; the last start counts. */
  begin(callId: string): void {
    this.#begun.set(callId, performance.now());
    this.#forgetSignIn(callId);
  }

  hear(data: ProgressData): void {
    this.#progress = new Map(this.#progress).set(data.toolCallId, data);
    this.#tell();
  }

  /** A call waits until the user has signed in. */
  needSignIn(request: SignInRequest): void {
    this.#signIns = new Map(this.#signIns).set(request.toolCallId, request);
    this.#tell();
  }

  /** The same stream, observed. */
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
    this.#forgetSignIn(callId);
    const begun = this.#begun.get(callId);
    // Replayed chunks take no time; earlier measurements stay valid.
    if (begun === undefined || this.#durations[callId] !== undefined) return;
    this.#durations = { ...this.#durations, [callId]: performance.now() - begun };
    this.#tell();
  }

  #forgetSignIn(callId: string): void {
    if (!this.#signIns.has(callId)) return;
    this.#signIns = new Map([...this.#signIns].filter(([id]) => id !== callId));
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
