/** Long lists are shown in parts: what is rendered stays bounded until somebody wants more. */
import { useState } from 'react';
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

/** For lists that the server gives page by page. */
export function MoreFromServer({ pages }: { pages: Pages }) {
  if (!pages.hasNextPage) return null;
  return (
    <p className="more">
      <Button disabled={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
        {pages.isFetchingNextPage ? 'Loading …' : 'Show more'}
      </Button>
    </p>
  );
}
