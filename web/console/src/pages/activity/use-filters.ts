/** The filters, kept while the tab lives, so that one comes back from a call to the same list. */
import { useState } from 'react';
import { useMe } from '../../api/queries';
import { allowed, keptFilters, type Filters } from './filters';

const KEPT = 'toolyard.activity';

export function useFilters(): [Filters, (next: Filters) => void] {
  const me = useMe();
  // They are one user's: whoever signs in next, or for whom an operator acts next, begins anew.
  const whose = JSON.stringify([me.name, me.userId ?? null]);
  const [filters, setFilters] = useState(() => keptFilters(sessionStorage.getItem(KEPT), whose));
  return [
    allowed(filters, me),
    (next) => {
      sessionStorage.setItem(KEPT, JSON.stringify({ ...next, whose }));
      setFilters(next);
    },
  ];
}
