/** Calls as they end, for parts of the console that watch them. */
import { useEffect, useRef, useState } from 'react';
import { plain } from './client';
import { withQuery, type Query } from './console';
import { Refused } from './error';
import type { components } from './schema';
import { useLapsed } from './session';
import { eventsOf } from './sse';

export type CallSummary = components['schemas']['CallSummary'];

/** Waits between tries, in milliseconds; the last one stays. */
const WAITS = [500, 1_000, 2_000, 5_000, 10_000];
/** However long the server asks to wait. */
const LONGEST_WAIT = 300_000;
/** What is refused with these is refused again; the rest passes: too many requests, a server that starts. */
const FINAL: ReadonlySet<number> = new Set([400, 401, 403, 404]);

export type Watching = 'connecting' | 'live' | 'lost' | 'paused';

interface Heard {
  onCall: (call: CallSummary) => void;
  /** The server had more than it could send. */
  onMissed?: (count: number) => void;
}

/** Watches those that `which` says while `on`; comes back by itself. */
export function useCalls(on: boolean, which: Query, heard: Heard): Watching {
  const [state, setState] = useState<Watching>('connecting');
  const lapsed = useLapsed();
  const path = withQuery('/api/calls/stream', which);
  const latest = useRef(heard);
  useEffect(() => {
    latest.current = heard;
  });
  useEffect(() => {
    if (!on) {
      setState('paused');
      return;
    }
    if (lapsed) {
      setState('lost');
      return;
    }
    const stop = new AbortController();
    void watch(path, stop.signal, latest, setState);
    return () => stop.abort();
  }, [on, lapsed, path]);
  return state;
}

async function watch(path: string, signal: AbortSignal, heard: { current: Heard }, tell: (state: Watching) => void) {
  for (let tries = 0; !signal.aborted; tries += 1) {
    let asked = 0;
    try {
      tell('connecting');
      const response = await plain(path, { signal, headers: { Accept: 'text/event-stream' } });
      tell('live');
      tries = 0;
      for await (const { event, data } of eventsOf(response)) {
        if (event === 'call') heard.current.onCall(JSON.parse(data) as CallSummary);
        if (event === 'missed') heard.current.onMissed?.(Number(data));
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused) {
        if (FINAL.has(error.status)) return tell('lost');
        asked = Math.min(error.retryAfterMs ?? 0, LONGEST_WAIT);
      }
    }
    if (signal.aborted) return;
    tell('lost');
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
