/** Live lists: the server names the lists that changed, and those on the screen are reloaded. */
import type { Query, QueryKey } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import { queryClient } from './queries';
import { useLapsed, useSession } from './session';
import { watchStream } from './watch';

/** The queries that belong to a list that the server names. */
export const LIST_KEYS: Readonly<Record<string, readonly QueryKey[]>> = {
  apps: [['apps']],
  library: [['library']],
  installs: [['installs']],
  tools: [['tools']],
  plugins: [['server-plugins'], ['plugin-catalogue']],
  upstreams: [['upstreams']],
  tokens: [['tokens'], ['clients']],
  session: [['session']],
  approvals: [['approvals'], ['approval-rules']],
  definitions: [['definitions']],
};

/** The topics of an event. Unknown topics are ignored. */
export function topicsOf(data: string): string[] {
  try {
    const { topics } = JSON.parse(data) as { topics?: unknown };
    return Array.isArray(topics) ? topics.filter((one): one is string => typeof one === 'string' && one in LIST_KEYS) : [];
  } catch {
    return [];
  }
}

/** Data that is being edited is not reloaded here; the editor does that itself. */
const isEdited = ({ queryKey }: Query) => queryKey[0] === 'apps' && queryKey[2] === 'tools';

function readAgain(topics: readonly string[]): void {
  for (const queryKey of topics.flatMap((topic) => LIST_KEYS[topic] ?? [])) {
    void queryClient.invalidateQueries({ queryKey, predicate: (query) => !isEdited(query) });
  }
}

/** Active while a user is signed in and the tab is visible: a hidden tab needs no updates, and browsers limit the number of connections. */
export function useLiveLists(): void {
  const isLapsed = useLapsed();
  const session = useSession();
  const isVisible = useSyncExternalStore(onVisibility, () => document.visibilityState === 'visible');
  useEffect(() => {
    if (isLapsed || !isVisible) return;
    const stop = new AbortController();
    void watchStream(
      '/api/changes',
      stop.signal,
      ({ event, data }) => {
        // Changes before the subscription started are not reported.
        if (event === 'ready') readAgain(Object.keys(LIST_KEYS));
        if (event === 'changed') readAgain(topicsOf(data));
      },
      () => undefined,
    );
    return () => stop.abort();
  }, [isLapsed, isVisible, session]);
}

export function onVisibility(listener: () => void): () => void {
  document.addEventListener('visibilitychange', listener);
  return () => document.removeEventListener('visibilitychange', listener);
}
