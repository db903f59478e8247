import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, data } from '../../api/client';
import { getLibrary } from '../../api/console';
import { Refused } from '../../api/error';

const PAGE = 50;

export const libraryQuery = (q: string) =>
  infiniteQueryOptions({
    queryKey: ['library', q],
    queryFn: ({ pageParam, signal }) =>
      getLibrary({ limit: PAGE, ...(q !== '' && { q }), ...(pageParam !== '' && { after: pageParam }) }, signal),
    initialPageParam: '',
    getNextPageParam: (last) => last.next ?? undefined,
  });

/** What the user wears; nothing where nobody is live. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async () => {
    try {
      return await data(api.GET('/api/session'));
    } catch (error) {
      if (error instanceof Refused && error.noSession) return null;
      throw error;
    }
  },
});
