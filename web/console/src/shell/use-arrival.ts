import { useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, type RefObject } from 'react';

/**
 * After a change of page the focus goes to its title, which is so read aloud: the link that was chosen may be gone with the
 * menu or the page it was on. A page that puts the focus somewhere itself keeps it there.
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
    const title = place.querySelector<HTMLElement>('h1') ?? place;
    if (title !== place) title.tabIndex = -1;
    title.focus({ preventScroll: true });
  }, [path, main]);
}
