/** What is looked at. */
import type { Query } from '../../api/console';

export const RANGES = [
  { value: '1', label: 'Last hour' },
  { value: '24', label: 'Last 24 hours' },
  { value: '168', label: 'Last 7 days' },
  { value: '720', label: 'Last 30 days' },
] as const;

export interface Filters {
  /** `mine`: what is done for this user (operators: for everybody); `apps`: what anybody does with the developer's own apps. */
  scope: 'mine' | 'apps';
  hours: string;
  app: string;
  tool: string;
  outcome: string;
  user: string;
}

export const NONE: Filters = { scope: 'mine', hours: '24', app: '', tool: '', outcome: '', user: '' };

/** Their names in the address of the page. */
export const FILTER_NAMES = ['of', 'hours', 'app', 'tool', 'outcome', 'user'] as const;

type Search = Partial<Record<string, string>>;

/** The filters that an address says. */
export function filtersFrom(search: Search): Filters {
  const hours = RANGES.find(({ value }) => value === search.hours)?.value ?? NONE.hours;
  const { app = '', tool = '', outcome = '', user = '' } = search;
  return { scope: search.of === 'apps' ? 'apps' : 'mine', hours, app, tool, outcome, user };
}

/** What an address has to say for these filters. */
export function searchFrom(filters: Filters): Record<(typeof FILTER_NAMES)[number], string | undefined> {
  const said = (name: 'app' | 'tool' | 'outcome' | 'user') => (filters[name] === '' ? undefined : filters[name]);
  return {
    of: filters.scope === 'apps' ? 'apps' : undefined,
    hours: filters.hours === NONE.hours ? undefined : filters.hours,
    app: said('app'),
    tool: said('tool'),
    outcome: said('outcome'),
    user: said('user'),
  };
}

/** Without what the role has no field for: nobody could see or take back such a filter. */
export function allowed(filters: Filters, { builds, operates }: { builds: boolean; operates: boolean }): Filters {
  const scope = builds ? filters.scope : 'mine';
  const user = operates ? filters.user : '';
  return scope === filters.scope && user === filters.user ? filters : { ...filters, scope, user };
}

/** To the minute, so that the same question is the same for a while. */
export function sinceOf(filters: Filters, now: number): string {
  const minute = 60_000;
  return new Date(Math.floor(now / minute) * minute - Number(filters.hours) * 60 * minute).toISOString();
}

export function listQuery(filters: Filters, now: number): Query {
  return { ...usageQuery(filters, now), outcome: trimmed(filters).outcome };
}

export function usageQuery(filters: Filters, now: number): Query {
  const { app, tool } = trimmed(filters);
  return { app, tool, since: sinceOf(filters, now), ...whoseQuery(filters) };
}

/** Whose calls. Developers are not told for whom their apps were called. */
export function whoseQuery(filters: Filters): Query {
  return filters.scope === 'apps' ? { of: 'apps' } : { user: trimmed(filters).user };
}

function trimmed(filters: Filters) {
  const [app, tool, outcome, user] = [filters.app, filters.tool, filters.outcome, filters.user].map((one) => one.trim());
  return { app, tool, outcome, user };
}

interface Seen {
  tool: string;
  outcome: string;
  /** Not told of calls of one's apps. */
  userId?: string | null;
  startedAt: string;
}

/** Whether a call that just ended belongs to the list. */
export function fits(call: Seen, filters: Filters): boolean {
  const { app, tool, outcome, user: named } = trimmed(filters);
  const user = filters.scope === 'apps' ? '' : named;
  return (
    (!app || call.tool.startsWith(`${app}:`)) &&
    (!tool || call.tool === tool) &&
    (!outcome || call.outcome === outcome) &&
    (!user || call.userId === user)
  );
}
