/** What is chosen on a page is part of its address: it can be shared, kept and reloaded, and the back button takes it back. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState } from 'react';

type Params = Record<string, string | undefined>;

interface Options {
  /** Takes the place of the present address in the history. */
  replace?: boolean;
}

/** The parameters of the page that is shown, and a change of some of them; an empty one is left out. */
export function useUrlParams(): [Params, (changes: Params, options?: Options) => void] {
  const params = useSearch({ strict: false }) as Params;
  const navigate = useNavigate();
  const change = useCallback(
    (changes: Params, { replace = false }: Options = {}) => {
      const search = ((before: Params) => withoutEmpty({ ...before, ...changes })) as never;
      // What is not saved stays where it is: it is the same page.
      void navigate({ to: '.', search, replace, resetScroll: false, ignoreBlocker: true });
    },
    [navigate],
  );
  return [params, change];
}

function withoutEmpty(params: Params): Params {
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined && value !== ''));
}

/** One of some choices; the first is that of an address that says nothing. */
export function useUrlChoice<T extends string>(name: string, choices: readonly [T, ...T[]]): [T, (next: T) => void] {
  const [params, change] = useUrlParams();
  const current = choices.find((one) => one === params[name]) ?? choices[0];
  return [current, (next) => change({ [name]: next === choices[0] ? undefined : next })];
}

/** How long typing pauses before it is written into the address. */
const TYPED_MS = 250;

/** A text that is typed: it acts at once, and is in the address after a moment. Going back takes back a whole search. */
export function useUrlText(name: string): [string, (next: string) => void] {
  const [params, change] = useUrlParams();
  const said = params[name] ?? '';
  const [typed, setTyped] = useState(said);
  const written = useRef(said);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    if (said === written.current) return;
    written.current = said;
    clearTimeout(timer.current);
    setTyped(said);
  }, [said]);
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
