import { useEffect, useState } from 'react';

/** Typing in a search that the server does. Short: what is shown has to follow the typing. */
export const SEARCH_MS = 50;

/** The value after it stayed the same for a while. */
export function useDebounced<T>(value: T, ms = 400): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
