import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, responseData } from '../../api/client';
import { getLibrary } from '../../api/console';
import { ApiError } from '../../api/error';

const PAGE = 50;

export const libraryQuery = (q: string) =>
  infiniteQueryOptions({
    queryKey: ['library', q],
    queryFn: ({ pageParam, signal }) =>
      getLibrary({ limit: PAGE, ...(q !== '' && { q }), ...(pageParam !== '' && { after: pageParam }) }, signal),
    initialPageParam: '',
    getNextPageParam: (last) => last.next ?? undefined,
  });

/** The user's glasses; null if there is no session. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async () => {
    try {
      return await responseData(api.GET('/api/session'));
    } catch (error) {
      if (error instanceof ApiError && error.noSession) return null;
      throw error;
    }
  },
});
