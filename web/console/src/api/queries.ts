/** The TanStack Query client, and queries that several pages share. */
import { type InvalidateOptions, type InvalidateQueryFilters, QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import { getDevices, getMe } from './console';
import { ApiError } from './error';
import { onLapse, onSessionChange, signOut } from './session';

/**
 * TanStack Query does not restart the first load of a query, so the change that invalidates it would be lost: the response may be older
 * than the change. Such a load is cancelled before its query is invalidated.
 */
class ConsoleQueryClient extends QueryClient {
  override async invalidateQueries<Key extends readonly unknown[]>(
    filters: InvalidateQueryFilters<Key> = {},
    options?: InvalidateOptions,
  ): Promise<void> {
    await this.cancelQueries({
      ...filters,
      predicate: (query) => query.state.data === undefined && (filters.predicate?.(query) ?? true),
    });
    return super.invalidateQueries(filters, options);
  }
}

export const queryClient = new ConsoleQueryClient({
  defaultOptions: {
    // A server on this machine or in the local network can be reached without internet access.
    mutations: { networkMode: 'always' },
    queries: {
      networkMode: 'always',
      staleTime: 5_000,
      // An error response will be the same again; a network error is retried once.
      retry: (count, error) => !(error instanceof ApiError) && count < 1,
      refetchOnWindowFocus: true,
    },
  },
});

// The next user must not see data of the previous one.
onSessionChange(() => {
  queryClient.getMutationCache().clear();
  void queryClient.resetQueries();
});

onLapse((now) => {
  // No page is open yet that could be lost.
  if (now === 'lapsed' && queryClient.getQueryData(meQuery.queryKey) === undefined) signOut('ended');
  // Much may have changed meanwhile, and the new token may have other permissions.
  if (now === 'renewed') void queryClient.invalidateQueries();
});

export const meQuery = queryOptions({ queryKey: ['me'], queryFn: ({ signal }) => getMe(signal), staleTime: 60_000 });
export const devicesQuery = queryOptions({ queryKey: ['devices'], queryFn: getDevices, staleTime: Infinity });

/** The signed-in user. Pages are shown only when it is known. */
export function useMe() {
  const { data } = useQuery(meQuery);
  if (data === undefined) throw new Error('the user was read before sign-in');
  const builds = data.role !== 'user';
  return { ...data, builds, operates: data.role === 'operator' };
}
