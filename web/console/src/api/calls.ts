/** Finished calls as a live stream, for parts of the console that follow them. */
import { useEffect, useRef, useState } from 'react';
import { withQuery, type Query } from './console';
import type { components } from './schema';
import { useLapsed } from './session';
import { watchStream, type StreamState } from './watch';

export type CallSummary = components['schemas']['CallSummary'];

export type Watching = StreamState | 'paused';

interface CallHandlers {
  onCall: (call: CallSummary) => void;
  /** The server dropped events because there were too many. */
  onMissed?: (count: number) => void;
}

/** Subscribes to the calls that `which` selects while `on` is true. Reconnects automatically. */
export function useCalls(on: boolean, which: Query, handlers: CallHandlers): Watching {
  const [state, setState] = useState<Watching>('connecting');
  const lapsed = useLapsed();
  const path = withQuery('/api/calls/stream', which);
  const latest = useRef(handlers);
  useEffect(() => {
    latest.current = handlers;
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
    void watchStream(
      path,
      stop.signal,
      ({ event, data }) => {
        if (event === 'call') latest.current.onCall(JSON.parse(data) as CallSummary);
        if (event === 'missed') latest.current.onMissed?.(Number(data));
      },
      setState,
    );
    return () => stop.abort();
  }, [on, lapsed, path]);
  return state;
}
