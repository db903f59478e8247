/** Selections on a page are part of its URL: it can be shared, bookmarked and reloaded, and the back button works. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState } from 'react';

type Params = Record<string, string | undefined>;

interface Options {
  /** Replaces the current history entry. */
  replace?: boolean;
}

/** The parameters of the page, and a function that changes some of them; empty ones are removed. */
export function useUrlParams(): [Params, (changes: Params, options?: Options) => void] {
  const params = useSearch({ strict: false }) as Params;
  const navigate = useNavigate();
  const change = useCallback(
    (changes: Params, { replace = false }: Options = {}) => {
      const search = ((before: Params) => withoutEmpty({ ...before, ...changes })) as never;
      // Unsaved changes are not lost: it is the same page.
      void navigate({ to: '.', search, replace, resetScroll: false, ignoreBlocker: true });
    },
    [navigate],
  );
  return [params, change];
}

function withoutEmpty(params: Params): Params {
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined && value !== ''));
}

/** One of several choices; the first is the default of a URL without the parameter. */
export function useUrlChoice<T extends string>(name: string, choices: readonly [T, ...T[]]): [T, (next: T) => void] {
  const [params, change] = useUrlParams();
  const current = choices.find((one) => one === params[name]) ?? choices[0];
  return [current, (next) => change({ [name]: next === choices[0] ? undefined : next })];
}

/** How long typing must pause before it is written to the URL. */
const TYPED_MS = 250;

/** A typed text: it applies at once, and is written to the URL after a moment. The back button undoes a whole search. */
export function useUrlText(name: string): [string, (next: string) => void] {
  const [params, change] = useUrlParams();
  const current = params[name] ?? '';
  const [typed, setTyped] = useState(current);
  const written = useRef(current);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    if (current === written.current) return;
    written.current = current;
    clearTimeout(timer.current);
    setTyped(current);
  }, [current]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (next: string) => {
    setTyped(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const replace = written.current !== '';
      written.current = next;
      change({ [name]: next }, { replace });
    }, TYPED_MS);
  };
  return [typed, type];
}
