import { queryOptions } from '@tanstack/react-query';
import { api, responseData } from '../../api/client';

/** Refetched at each visit, because it depends on the connected glasses. */
export const toolsQuery = queryOptions({
  queryKey: ['tools', 'all'],
  staleTime: 0,
  queryFn: () => responseData(api.GET('/api/tools', { params: { query: { hidden: 'true' } } })),
});

export const offQuery = queryOptions({ queryKey: ['tools', 'off'], queryFn: () => responseData(api.GET('/api/settings/tools')) });

/** What the tools do with data. It changes with the tools, so it is refetched with them. */
export const labelsQuery = queryOptions({
  queryKey: ['tools', 'labels'],
  queryFn: () => responseData(api.GET('/api/tools/labels')),
  select: ({ tools }) => new Map(tools.map(({ tool, labels }) => [tool, labels] as const)),
});

/** The user's apps, for their names and icons. */
export const installsQuery = queryOptions({ queryKey: ['installs'], queryFn: () => responseData(api.GET('/api/installs')) });

export const switchTool = (name: string, enabled: boolean) =>
  responseData(api.PUT('/api/settings/tools/{name}', { params: { path: { name } }, body: { enabled } }));
