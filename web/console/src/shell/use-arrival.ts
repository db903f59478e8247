import { useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, type RefObject } from 'react';
import { focusTitle } from '../ui/focus-title';

/**
 * After navigation the focus moves to the page title, which is then read aloud: the link that was used may be gone with the menu or the
 * previous page. A page that sets the focus itself keeps it.
 */
export function useArrival(main: RefObject<HTMLElement | null>): void {
  const path = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  const last = useRef<string>(undefined);
  useEffect(() => {
    const [from, place] = [last.current, main.current];
    last.current = path;
    if (path === undefined || from === undefined || from === path || place === null) return;
    const focused = document.activeElement;
    if (focused !== place && place.contains(focused)) return;
    focusTitle(place);
  }, [path, main]);
}
