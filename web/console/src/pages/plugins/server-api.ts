/** Plugins that the server runs for the user. */
import { api, data, plain } from '../../api/client';
import { writePermissions, type Permissions } from '../../plugins/trust/permissions';

export const SERVER_PLUGINS = ['server-plugins'];

export const getServerPlugins = () => data(api.GET('/api/plugins/installed'));

/** The manifest goes byte for byte as it came: a signature may depend on how it is read. */
export async function installOnServer(raw: string, permissions: Permissions, acceptChange: boolean): Promise<void> {
  const body = `{"manifest":${raw},"permissions":${JSON.stringify(writePermissions(permissions))},"acceptChange":${acceptChange}}`;
  await plain('/api/plugins/installed', { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
}

export const switchServerPlugin = (id: string, enabled: boolean) =>
  data(api.PATCH('/api/plugins/installed/{id}', { params: { path: { id } }, body: { enabled } }));
export const removeServerPlugin = (id: string) => data(api.DELETE('/api/plugins/installed/{id}', { params: { path: { id } } }));
export const getCatalogue = (q: string, after?: string, signal?: AbortSignal) =>
  data(
    api.GET('/api/plugins', {
      ...(signal && { signal }),
      params: { query: { ...(q !== '' && { q }), ...(after !== undefined && { after }) } },
    }),
  );
export const getCatalogued = async (id: string, version: string) =>
  (await plain(`/api/plugins/${encodeURIComponent(id)}/${encodeURIComponent(version)}`)).text();
