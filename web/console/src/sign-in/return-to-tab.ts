import { isSessionEvent } from '../api/session';

/** Calls `look` when the user returns to this tab, or signed in in another one. Returns a function that unsubscribes. */
export function onReturnToTab(look: () => Promise<void>): () => void {
  const run = () => void (document.visibilityState === 'visible' && look());
  const onStorage = (event: StorageEvent) => void (isSessionEvent(event) && look());
  window.addEventListener('focus', run);
  window.addEventListener('storage', onStorage);
  document.addEventListener('visibilitychange', run);
  return () => {
    window.removeEventListener('focus', run);
    window.removeEventListener('storage', onStorage);
    document.removeEventListener('visibilitychange', run);
  };
}
