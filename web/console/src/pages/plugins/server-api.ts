/** Plugins that the server runs for the user. */
import { api, responseData, fetchRaw } from '../../api/client';
import { writePermissions, type Permissions } from '../../plugins/trust/permissions';

export const SERVER_PLUGINS = ['server-plugins'];

export const getServerPlugins = () => responseData(api.GET('/api/plugins/installed'));

/** The manifest is sent byte for byte, because a signature may depend on how it is parsed. */
export async function installOnServer(raw: string, permissions: Permissions, acceptChange: boolean): Promise<void> {
  const body = `{"manifest":${raw},"permissions":${JSON.stringify(writePermissions(permissions))},"acceptChange":${acceptChange}}`;
  await fetchRaw('/api/plugins/installed', { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
}

export const switchServerPlugin = (id: string, enabled: boolean) =>
  responseData(api.PATCH('/api/plugins/installed/{id}', { params: { path: { id } }, body: { enabled } }));
export const removeServerPlugin = (id: string) => responseData(api.DELETE('/api/plugins/installed/{id}', { params: { path: { id } } }));
export const getCatalogue = (q: string, after?: string, signal?: AbortSignal) =>
  responseData(
    api.GET('/api/plugins', {
      ...(signal && { signal }),
      params: { query: { ...(q !== '' && { q }), ...(after !== undefined && { after }) } },
    }),
  );
export const getCatalogued = async (id: string, version: string) =>
  (await fetchRaw(`/api/plugins/${encodeURIComponent(id)}/${encodeURIComponent(version)}`)).text();
