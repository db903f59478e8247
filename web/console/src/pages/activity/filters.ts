/** The filters of the activity page. */
import type { Query } from '../../api/console';

export const RANGES = [
  { value: '1', label: 'Last hour' },
  { value: '24', label: 'Last 24 hours' },
  { value: '168', label: 'Last 7 days' },
  { value: '720', label: 'Last 30 days' },
] as const;

export interface Filters {
  /** `mine`: calls for this user (operators: for all users); `apps`: calls of the developer's apps. */
  scope: 'mine' | 'apps';
  hours: string;
  app: string;
  tool: string;
  outcome: string;
  user: string;
}

export const NO_FILTERS: Filters = { scope: 'mine', hours: '24', app: '', tool: '', outcome: '', user: '' };

/** Their names in the URL. */
export const FILTER_NAMES = ['of', 'hours', 'app', 'tool', 'outcome', 'user'] as const;

type Search = Partial<Record<string, string>>;

/** Parses the filters from a URL. */
export function filtersFrom(search: Search): Filters {
  const hours = RANGES.find(({ value }) => value === search.hours)?.value ?? NO_FILTERS.hours;
  const { app = '', tool = '', outcome = '', user = '' } = search;
  return { scope: search.of === 'apps' ? 'apps' : 'mine', hours, app, tool, outcome, user };
}

/** The URL parameters of the filters. */
export function searchFrom(filters: Filters): Record<(typeof FILTER_NAMES)[number], string | undefined> {
  const optional = (name: 'app' | 'tool' | 'outcome' | 'user') => (filters[name] === '' ? undefined : filters[name]);
  return {
    of: filters.scope === 'apps' ? 'apps' : undefined,
    hours: filters.hours === NO_FILTERS.hours ? undefined : filters.hours,
    app: optional('app'),
    tool: optional('tool'),
    outcome: optional('outcome'),
    user: optional('user'),
  };
}

/** Removes filters that the role has no field for, because the user could neither see nor reset them. */
export function visibleFilters(filters: Filters, { builds, operates }: { builds: boolean; operates: boolean }): Filters {
  const scope = builds ? filters.scope : 'mine';
  const user = operates ? filters.user : '';
  return scope === filters.scope && user === filters.user ? filters : { ...filters, scope, user };
}

/** Rounded to the minute, so that the query stays the same for a while. */
export function startTime(filters: Filters, now: number): string {
  const minute = 60_000;
  return new Date(Math.floor(now / minute) * minute - Number(filters.hours) * 60 * minute).toISOString();
}

export function listQuery(filters: Filters, now: number): Query {
  return { ...usageQuery(filters, now), outcome: trimmed(filters).outcome };
}

export function usageQuery(filters: Filters, now: number): Query {
  const { app, tool } = trimmed(filters);
  return { app, tool, since: startTime(filters, now), ...scopeQuery(filters) };
}

/** Whose calls. Developers do not see the users of their apps. */
export function scopeQuery(filters: Filters): Query {
  return filters.scope === 'apps' ? { of: 'apps' } : { user: trimmed(filters).user };
}

function trimmed(filters: Filters) {
  const [app, tool, outcome, user] = [filters.app, filters.tool, filters.outcome, filters.user].map((one) => one.trim());
  return { app, tool, outcome, user };
}

interface FinishedCall {
  tool: string;
  outcome: string;
  /** Not known for calls of one's own apps. */
  userId?: string | null;
  startedAt: string;
}

/** Whether a finished call belongs in the list. */
export function matchesFilters(call: FinishedCall, filters: Filters): boolean {
  const { app, tool, outcome, user: named } = trimmed(filters);
  const user = filters.scope === 'apps' ? '' : named;
  return (
    (!app || call.tool.startsWith(`${app}:`)) &&
    (!tool || call.tool === tool) &&
    (!outcome || call.outcome === outcome) &&
    (!user || call.userId === user)
  );
}
