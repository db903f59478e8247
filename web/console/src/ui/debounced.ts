import { useEffect, useState } from 'react';

/** Delay for server-side search. Short, so that results follow the typing. */
export const SEARCH_MS = 50;

/** The value after it has not changed for a while. */
export function useDebounced<T>(value: T, ms = 400): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
