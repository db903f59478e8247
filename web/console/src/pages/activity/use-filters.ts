/** The filters are part of the page's URL. The last ones are kept for the tab, for the link back from a call. */
import { useEffect } from 'react';
import { useMe } from '../../api/queries';
import { useUrlParams } from '../../ui/url-state';
import { visibleFilters, filtersFrom, searchFrom, type Filters } from './filters';

const KEPT = 'toolyard.activity';

type Search = Partial<Record<string, string>>;

export function useFilters(): [Filters, (next: Filters) => void] {
  const me = useMe();
  const [params, change] = useUrlParams();
  const whose = useWhose();
  useEffect(() => sessionStorage.setItem(KEPT, JSON.stringify({ whose, params })), [whose, params]);
  return [visibleFilters(filtersFrom(params), me), (next) => change(searchFrom(next))];
}

/** The parameters with which the list was last shown. */
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

/** They belong to one user: after a sign-in, or when an operator acts for another user, they are reset. */
function useWhose(): string {
  const me = useMe();
  return JSON.stringify([me.name, me.userId ?? null]);
}
