/** Long lists are shown in parts: what is rendered stays bounded until somebody wants more. */
import { useEffect, useRef, useState } from 'react';
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
  isFetchingNextPage: boolean;
  fetchNextPage: () => Promise<unknown>;
}

/** How far below the screen the next page is asked for. */
const AHEAD = '600px';

/** For lists that the server gives page by page: the next one comes when its place comes near the screen, or by the button. */
export function MoreFromServer({ pages }: { pages: Pages }) {
  const place = useRef<HTMLParagraphElement>(null);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = pages;
  useEffect(() => {
    if (place.current === null || isFetchingNextPage) return;
    const observer = new IntersectionObserver(([entry]) => void (entry?.isIntersecting === true && fetchNextPage()), { rootMargin: AHEAD });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  if (!hasNextPage) return null;
  return (
    <p className="more" ref={place}>
      <Button disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
        {isFetchingNextPage ? 'Loading …' : 'Show more'}
      </Button>
    </p>
  );
}
