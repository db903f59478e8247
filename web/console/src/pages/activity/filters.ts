/** What is looked at. Kept while the tab lives, so that one comes back from a call to the same list. */
import { useState } from 'react';
import type { Query } from '../../api/console';

export const RANGES = [
  { value: '1', label: 'Last hour' },
  { value: '24', label: 'Last 24 hours' },
  { value: '168', label: 'Last 7 days' },
  { value: '720', label: 'Last 30 days' },
] as const;

export interface Filters {
  /** `mine`: what is done for this user (operators: for everybody); `apps`: what the developer's own apps are used for. */
  scope: 'mine' | 'apps';
  hours: string;
  app: string;
  tool: string;
  outcome: string;
  user: string;
}

export const NONE: Filters = { scope: 'mine', hours: '24', app: '', tool: '', outcome: '', user: '' };
const KEPT = 'toolyard.activity';

function kept(): Filters {
  try {
    const read = JSON.parse(sessionStorage.getItem(KEPT) ?? '{}') as Record<string, unknown>;
    const text = (name: keyof Filters) => (typeof read[name] === 'string' ? read[name] : NONE[name]);
    const hours = RANGES.some(({ value }) => value === read.hours) ? text('hours') : NONE.hours;
    return { scope: read.scope === 'apps' ? 'apps' : 'mine', hours, app: text('app'), tool: text('tool'), outcome: text('outcome'), user: text('user') };
  } catch {
    return NONE;
  }
}

export function useFilters(): [Filters, (next: Filters) => void] {
  const [filters, setFilters] = useState(kept);
  return [
    filters,
    (next) => {
      sessionStorage.setItem(KEPT, JSON.stringify(next));
      setFilters(next);
    },
  ];
}

/** To the minute, so that the same question is the same for a while. */
export function sinceOf(filters: Filters, now: number): string {
  const minute = 60_000;
  return new Date(Math.floor(now / minute) * minute - Number(filters.hours) * 60 * minute).toISOString();
}

/** The ledger is asked for one's own calls only; what others did with one's apps is counted, not listed. */
export function listQuery(filters: Filters, now: number): Query {
  const { app, tool, outcome, user } = trimmed(filters);
  return { app, tool, outcome, user, since: sinceOf(filters, now) };
}

export function usageQuery(filters: Filters, now: number): Query {
  const { app, tool, user } = trimmed(filters);
  const whose: Query = filters.scope === 'apps' ? { of: 'apps' } : { user };
  return { app, tool, since: sinceOf(filters, now), ...whose };
}

function trimmed(filters: Filters) {
  const [app, tool, outcome, user] = [filters.app, filters.tool, filters.outcome, filters.user].map((one) => one.trim());
  return { app, tool, outcome, user };
}

interface Seen {
  tool: string;
  outcome: string;
  userId: string;
  startedAt: string;
}

/** Whether a call that just ended belongs to the list. */
export function fits(call: Seen, filters: Filters): boolean {
  const { app, tool, outcome, user } = trimmed(filters);
  return (!app || call.tool.startsWith(`${app}:`)) && (!tool || call.tool === tool) && (!outcome || call.outcome === outcome) && (!user || call.userId === user);
}
