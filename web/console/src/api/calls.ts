/** Calls as they end, for parts of the console that watch them. */
import { useEffect, useRef, useState } from 'react';
import { withQuery, type Query } from './console';
import type { components } from './schema';
import { useLapsed } from './session';
import { watchStream, type StreamState } from './watch';

export type CallSummary = components['schemas']['CallSummary'];

export type Watching = StreamState | 'paused';

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
