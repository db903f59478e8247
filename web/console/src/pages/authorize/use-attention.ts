import { useCallback, useEffect, useRef, useState } from 'react';

const DELAY_MS = 500;

/**
 * Whether the page has been in front of the user for half a second. A press before that was meant for another window: a page can make
 * its visitor click twice and close itself in between, so that the second click reaches the window behind it.
 */
export function useAttention(): { isReady: boolean; hasAttention: () => boolean } {
  const [isReady, setReady] = useState(false);
  const since = useRef(Infinity);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const begin = () => {
      since.current = performance.now();
      setReady(false);
      clearTimeout(timer);
      timer = setTimeout(() => setReady(true), DELAY_MS);
    };
    begin();
    window.addEventListener('focus', begin);
    document.addEventListener('visibilitychange', begin);
    return () => {
      clearTimeout(timer);
      window.removeEventListener('focus', begin);
      document.removeEventListener('visibilitychange', begin);
    };
  }, []);
  // The button may not have been drawn again yet.
  const hasAttention = useCallback(() => performance.now() - since.current >= DELAY_MS, []);
  return { isReady, hasAttention };
}
