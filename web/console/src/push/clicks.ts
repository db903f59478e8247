/** A click on a notification opens its page in a console that is open already. */
import { useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { requestedPath } from './requested-path';

export function useNotificationClicks(): void {
  const { history } = useRouter();
  useEffect(() => {
    if (!('serviceWorker' in navigator)) return;
    const listen = ({ data }: MessageEvent<unknown>) => {
      const path = requestedPath(data, window.location.origin);
      if (path !== undefined) history.push(path);
    };
    navigator.serviceWorker.addEventListener('message', listen);
    return () => navigator.serviceWorker.removeEventListener('message', listen);
  }, [history]);
}
