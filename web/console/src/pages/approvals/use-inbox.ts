/** The approvals on the inbox page: pending ones, and those that were answered while the page was open. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import type { ApprovalInfo } from '../../api/approvals';
import { pendingQuery } from '../../approvals/queries';

/** Answered approvals that stay on the page, newest last. */
const MAX_ANSWERED = 20;
const NONE: readonly ApprovalInfo[] = [];

/**
 * The list with new approvals added. One that is no longer pending keeps its place, so that nothing moves under the pointer and the user
 * sees who answered.
 */
export function mergeInbox(shown: readonly ApprovalInfo[], pending: readonly ApprovalInfo[]): readonly ApprovalInfo[] {
  const latest = new Map(pending.map((one) => [one.id, one]));
  const known = new Set(shown.map(({ id }) => id));
  const merged = [...shown.map((one) => latest.get(one.id) ?? one), ...pending.filter(({ id }) => !known.has(id))];
  const surplus = merged.filter(({ id }) => !latest.has(id)).length - MAX_ANSWERED;
  let dropped = 0;
  const kept = merged.filter(({ id }) => latest.has(id) || ++dropped > surplus);
  const isSame = kept.length === shown.length && kept.every((one, place) => one === shown[place]);
  return isSame ? shown : kept;
}

export function useInbox() {
  const pending = useQuery(pendingQuery);
  const [shown, setShown] = useState<readonly ApprovalInfo[]>(pending.data ?? NONE);
  const { data } = pending;
  useEffect(() => {
    if (data !== undefined) setShown((now) => mergeInbox(now, data));
  }, [data]);
  const waiting = useMemo(() => new Set(data?.map(({ id }) => id)), [data]);
  const clear = () => setShown((now) => now.filter(({ id }) => waiting.has(id)));
  return { pending, shown, waiting, clear };
}
