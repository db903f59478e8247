/** Approvals as they are requested and answered, on any surface. */
import { useEffect, useSyncExternalStore } from 'react';
import { APPROVAL_EVENTS, type ApprovalInfo } from '../api/approvals';
import { onVisibility } from '../api/live-lists';
import { queryClient } from '../api/queries';
import { useLapsed, useSession } from '../api/session';
import { watchStream } from '../api/watch';
import { toast } from '../ui/toast';
import { applyApproval } from './queries';

/** An event of the stream; null if it is not an approval. */
export function parseApproval(data: string): ApprovalInfo | null {
  try {
    const value = JSON.parse(data) as Partial<ApprovalInfo> | null;
    const isWhole = typeof value?.id === 'string' && typeof value.state === 'string' && Array.isArray(value.summary?.lines);
    return isWhole ? (value as ApprovalInfo) : null;
  } catch {
    return null;
  }
}

/** Active while a user is signed in and the tab is visible, as for live lists. */
export function useApprovalEvents(): void {
  const isLapsed = useLapsed();
  const session = useSession();
  const isVisible = useSyncExternalStore(onVisibility, () => document.visibilityState === 'visible');
  useEffect(() => {
    if (isLapsed || !isVisible) return;
    const stop = new AbortController();
    // Before `ready` come the approvals that were pending already.
    let isReady = false;
    const known = new Set<string>();
    void watchStream(
      APPROVAL_EVENTS,
      stop.signal,
      ({ event, data }) => {
        if (event === 'ready') {
          isReady = true;
          // Answers that were given before the stream started are not reported.
          void queryClient.invalidateQueries({ queryKey: ['approvals'] });
        }
        const approval = event === 'approval' ? parseApproval(data) : null;
        if (approval === null) return;
        const isNew = approval.state === 'pending' && !known.has(approval.id);
        if (approval.state === 'pending') known.add(approval.id);
        else known.delete(approval.id);
        applyApproval(approval);
        if (isNew && isReady) toast(`Approval needed: ${approval.summary.title}`);
      },
      (state) => {
        if (state !== 'live') isReady = false;
      },
    );
    return () => stop.abort();
  }, [isLapsed, isVisible, session]);
}
