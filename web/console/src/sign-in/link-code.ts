/**
 * The code of a one-time sign-in link. It is in the fragment of the address, and removed from there before anything else happens: it must
 * not stay in the history or in a copied address. Imported first.
 */
import { useSyncExternalStore } from 'react';
import { SIGN_IN_PATH } from './return-path';

const PREFIX = '#code=';
const listeners = new Set<() => void>();
let code: string | null = null;

function take(): void {
  const { hash, pathname, search } = window.location;
  if (pathname !== SIGN_IN_PATH || !hash.startsWith(PREFIX)) return;
  code = new URLSearchParams(hash.slice(1)).get('code');
  window.history.replaceState(window.history.state, '', pathname + search);
  for (const listener of listeners) listener();
}

take();
// A link that is opened in a tab that already shows the page changes only the fragment.
window.addEventListener('hashchange', take);

/** A code works once. */
export function forgetLinkCode(): void {
  code = null;
  for (const listener of listeners) listener();
}

export function useLinkCode(): string | null {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => code,
  );
}
