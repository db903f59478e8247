/** A stream of server-sent events that comes back by itself. */
import { plain } from './client';
import { Refused } from './error';
import { eventsOf, type ServerEvent } from './sse';

/** Waits between tries, in milliseconds; the last one stays. */
const WAITS = [500, 1_000, 2_000, 5_000, 10_000];
/** However long the server asks to wait. */
const LONGEST_WAIT = 300_000;
/** What is refused with these is refused again; the rest passes: too many requests, a server that starts. */
const FINAL: ReadonlySet<number> = new Set([400, 401, 403, 404]);

export type StreamState = 'connecting' | 'live' | 'lost';

/** Reads the stream until the signal says stop, or the server refuses it for good. */
export async function watchStream(
  path: string,
  signal: AbortSignal,
  onEvent: (event: ServerEvent) => void,
  onState: (state: StreamState) => void,
): Promise<void> {
  for (let tries = 0; !signal.aborted; tries += 1) {
    let asked = 0;
    try {
      onState('connecting');
      const response = await plain(path, { signal, headers: { Accept: 'text/event-stream' } });
      onState('live');
      tries = 0;
      for await (const event of eventsOf(response)) onEvent(event);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused) {
        if (FINAL.has(error.status)) return onState('lost');
        asked = Math.min(error.retryAfterMs ?? 0, LONGEST_WAIT);
      }
    }
    if (signal.aborted) return;
    onState('lost');
    await pause(Math.max(asked, WAITS[Math.min(tries, WAITS.length - 1)] ?? 1_000), signal);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
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
