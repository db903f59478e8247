/** Long lists are shown in parts: what is rendered stays bounded until somebody wants more. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { Button } from './button';

export function useMore<T>(list: readonly T[], step = 50): { shown: readonly T[]; more: React.ReactNode } {
  const [count, setCount] = useState(step);
  const left = list.length - count;
  const more =
    left > 0 ? (
      <p className="more">
        <Button onClick={() => setCount(count + step)}>Show {Math.min(step, left)} more</Button>
        <span className="muted">{left} not shown</span>
      </p>
    ) : null;
  return { shown: list.slice(0, count), more };
}

interface Pages {
  hasNextPage: boolean;
  isFetching: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => Promise<unknown>;
}

/**
 * Asks for the next page as soon as nothing else of the list is being read. Of two readings the later one ends the earlier, so
 * that a page that was asked for meanwhile would end the reading that brings what changed, or be ended by it.
 */
export function useNextPage({ isFetching, isFetchingNextPage, fetchNextPage }: Omit<Pages, 'hasNextPage'>): {
  isLoading: boolean;
  askForNext: () => void;
} {
  const [isWanted, setWanted] = useState(false);
  useEffect(() => {
    if (!isWanted || isFetching) return;
    setWanted(false);
    void fetchNextPage();
  }, [isWanted, isFetching, fetchNextPage]);
  const askForNext = useCallback(() => setWanted(true), []);
  return { isLoading: isWanted || isFetchingNextPage, askForNext };
}

/** How far below the screen the next page is asked for. */
const AHEAD = '600px';

/** For lists that the server gives page by page: the next one comes when its place comes near the screen, or by the button. */
export function MoreFromServer({ pages }: { pages: Pages }) {
  const place = useRef<HTMLParagraphElement>(null);
  const { hasNextPage } = pages;
  const { isLoading, askForNext } = useNextPage(pages);
  useEffect(() => {
    if (place.current === null || isLoading) return;
    const observer = new IntersectionObserver(([entry]) => void (entry?.isIntersecting === true && askForNext()), { rootMargin: AHEAD });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [hasNextPage, isLoading, askForNext]);
  if (!hasNextPage) return null;
  return (
    <p className="more" ref={place}>
      <Button disabled={isLoading} onClick={askForNext}>
        {isLoading ? 'Loading …' : 'Show more'}
      </Button>
    </p>
  );
}
