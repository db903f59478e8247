import { queryOptions } from '@tanstack/react-query';
import { api, data } from '../../api/client';
import { getLibrary, type LibraryApp } from '../../api/console';

/** Asked at each visit: other glasses, which are put on elsewhere, change it. */
export const toolsQuery = queryOptions({
  queryKey: ['tools', 'all'],
  staleTime: 0,
  queryFn: () => data(api.GET('/api/tools', { params: { query: { hidden: 'true' } } })),
});

export const offQuery = queryOptions({ queryKey: ['tools', 'off'], queryFn: () => data(api.GET('/api/settings/tools')) });

const MOST_PAGES = 5;

/** The apps that the user has, for their names and for what is said of tools that are hidden. */
export const appsOfUserQuery = queryOptions({
  queryKey: ['library', 'of', 'user'],
  staleTime: 0,
  queryFn: async () => {
    const found: LibraryApp[] = [];
    let after: string | undefined;
    for (let pages = 0; pages < MOST_PAGES; pages += 1) {
      const { apps, next } = await getLibrary({ limit: 50, ...(after !== undefined && { after }) });
      found.push(...apps.filter(({ installed }) => installed));
      if (next == null) break;
      after = next;
    }
    return found;
  },
});

export const switchTool = (name: string, enabled: boolean) => data(api.PUT('/api/settings/tools/{name}', { params: { path: { name } }, body: { enabled } }));
