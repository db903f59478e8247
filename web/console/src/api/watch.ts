/** A stream of server-sent events that reconnects automatically. */
import { fetchRaw } from './client';
import { ApiError } from './error';
import { eventsOf, type ServerEvent } from './sse';

/** Delays between retries in milliseconds; the last one repeats. */
const WAITS = [500, 1_000, 2_000, 5_000, 10_000];
/** Upper limit for the delay that the server requests. */
const LONGEST_WAIT = 300_000;
/** Status codes that are not retried. Others are temporary, such as rate limits or a server that is starting. */
const FINAL: ReadonlySet<number> = new Set([400, 401, 403, 404]);

export type StreamState = 'connecting' | 'live' | 'lost';

/** Reads the stream until the signal is aborted, or the server rejects it permanently. */
export async function watchStream(
  path: string,
  signal: AbortSignal,
  onEvent: (event: ServerEvent) => void,
  onState: (state: StreamState) => void,
): Promise<void> {
  for (let tries = 0; !signal.aborted; tries += 1) {
    let failure: unknown;
    try {
      onState('connecting');
      const response = await fetchRaw(path, { signal, headers: { Accept: 'text/event-stream' } });
      onState('live');
      tries = 0;
      for await (const event of eventsOf(response)) onEvent(event);
    } catch (error) {
      if (signal.aborted) return;
      if (isPermanent(error)) return onState('lost');
      failure = error;
    }
    if (signal.aborted) return;
    onState('lost');
    await pause(retryDelay(tries, failure), signal);
  }
}

/** Whether the server would answer the same again. */
export const isPermanent = (error: unknown) => error instanceof ApiError && FINAL.has(error.status);

/** The delay before the next try in milliseconds, longer after each of the `tries`, and at least as long as the server requests. */
export function retryDelay(tries: number, error?: unknown): number {
  const requested = error instanceof ApiError ? Math.min(error.retryAfterMs ?? 0, LONGEST_WAIT) : 0;
  return Math.max(requested, WAITS[Math.min(tries, WAITS.length - 1)] ?? 1_000);
}

/** Resolves after the time, or when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done);
  });
}
