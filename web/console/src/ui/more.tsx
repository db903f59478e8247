/** Long lists are shown in parts, so that the number of rendered items stays bounded. */
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
 * Fetches the next page as soon as no other fetch of the list is running. Of two fetches the later one cancels the earlier, so fetching a
 * page could cancel a refetch with changes, or be cancelled by it.
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

/** How far below the screen the next page is fetched. */
const AHEAD = '600px';

/** For paged lists: the next page is fetched when its place comes near the screen, or with the button. */
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
