/** The client of TanStack Query, and what more than one page asks. */
import { QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import { getDevices, getMe } from './console';
import { Refused } from './error';
import { onLapse, onSessionChange, signOut } from './session';

export const queryClient = new QueryClient({
  defaultOptions: {
    // A server on this machine or in this network is there without the internet as well.
    mutations: { networkMode: 'always' },
    queries: {
      networkMode: 'always',
      staleTime: 5_000,
      // What the server refused it refuses again; what broke on the way is tried once more.
      retry: (count, error) => !(error instanceof Refused) && count < 1,
      refetchOnWindowFocus: true,
    },
  },
});

// Nothing of one user is shown to the next.
onSessionChange(() => {
  queryClient.getMutationCache().clear();
  void queryClient.resetQueries();
});

onLapse((now) => {
  // No page is open yet that could be lost.
  if (now === 'lapsed' && queryClient.getQueryData(meQuery.queryKey) === undefined) signOut('ended');
  // Much may have happened meanwhile, and the new token may have other rights.
  if (now === 'renewed') void queryClient.invalidateQueries();
});

export const meQuery = queryOptions({ queryKey: ['me'], queryFn: ({ signal }) => getMe(signal), staleTime: 60_000 });
export const devicesQuery = queryOptions({ queryKey: ['devices'], queryFn: getDevices, staleTime: Infinity });

/** Who uses the console. Pages are shown only when this is known. */
export function useMe() {
  const { data } = useQuery(meQuery);
  if (data === undefined) throw new Error('asked for the user before sign-in');
  const builds = data.role !== 'user';
  return { ...data, builds, operates: data.role === 'operator' };
}
