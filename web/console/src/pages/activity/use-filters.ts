/** The filters are part of the address of the page. The last ones are kept while the tab lives, for the way back from a call. */
import { useEffect } from 'react';
import { useMe } from '../../api/queries';
import { useUrlParams } from '../../ui/url-state';
import { allowed, filtersFrom, searchFrom, type Filters } from './filters';

const KEPT = 'toolyard.activity';

type Search = Partial<Record<string, string>>;

export function useFilters(): [Filters, (next: Filters) => void] {
  const me = useMe();
  const [params, change] = useUrlParams();
  const whose = useWhose();
  useEffect(() => sessionStorage.setItem(KEPT, JSON.stringify({ whose, params })), [whose, params]);
  return [allowed(filtersFrom(params), me), (next) => change(searchFrom(next))];
}

/** What the list was shown with last. */
export function useLastSearch(): Search {
  const whose = useWhose();
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? '{}') as { whose?: unknown; params?: unknown };
    if (kept.whose !== whose || typeof kept.params !== 'object' || kept.params === null) return {};
    return Object.fromEntries(Object.entries(kept.params).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
  } catch {
    return {};
  }
}

/** They are one user's: whoever signs in next, or for whom an operator acts next, begins anew. */
function useWhose(): string {
  const me = useMe();
  return JSON.stringify([me.name, me.userId ?? null]);
}
