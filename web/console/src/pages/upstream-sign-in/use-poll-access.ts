import { useEffect, useSyncExternalStore } from 'react';
import { onVisibility } from '../../api/live-lists';
import { queryClient } from '../../api/queries';
import { useLapsed } from '../../api/session';
import { awaitUpstreamAccess, type UpstreamAccess, upstreamAccessQuery } from '../../api/upstream-access';
import { pollAccess } from './state';

/**
 * Learns that the user signed in, for example in another tab, while this one is visible. Without `isActive`, no request is open: browsers
 * limit the number of connections to a server.
 */
export function usePollAccess(id: string, isActive: boolean): void {
  const isLapsed = useLapsed();
  const isVisible = useSyncExternalStore(onVisibility, () => document.visibilityState === 'visible');
  useEffect(() => {
    if (!isActive || !isVisible || isLapsed) return;
    const stop = new AbortController();
    const { queryKey } = upstreamAccessQuery(id);
    const poll = {
      ask: (signal: AbortSignal) => awaitUpstreamAccess(id, signal),
      onAnswer: (access: UpstreamAccess) => void queryClient.setQueryData(queryKey, access),
      onRejected: () => void queryClient.invalidateQueries({ queryKey }),
    };
    void pollAccess(poll, stop.signal);
    return () => stop.abort();
  }, [id, isActive, isVisible, isLapsed]);
}
