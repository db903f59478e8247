import { queryOptions } from '@tanstack/react-query';
import { api, data } from '../../api/client';

/** Asked at each visit: other glasses, which are put on elsewhere, change it. */
export const toolsQuery = queryOptions({
  queryKey: ['tools', 'all'],
  staleTime: 0,
  queryFn: () => data(api.GET('/api/tools', { params: { query: { hidden: 'true' } } })),
});

export const offQuery = queryOptions({ queryKey: ['tools', 'off'], queryFn: () => data(api.GET('/api/settings/tools')) });

/** The apps that the user has, for their names and pictures. */
export const installsQuery = queryOptions({ queryKey: ['installs'], queryFn: () => data(api.GET('/api/installs')) });

export const switchTool = (name: string, enabled: boolean) =>
  data(api.PUT('/api/settings/tools/{name}', { params: { path: { name } }, body: { enabled } }));
