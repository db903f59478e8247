/** Routes that exist for the console, as functions with the server's types. */
import type { AccountProfile } from './accounts';
import { fetchRaw } from './client';
import type { components } from './schema';

type Schemas = components['schemas'];

export type Me = Schemas['CallerProfile'] & AccountProfile;
export type Role = Schemas['Role'];
export type KnownUser = Schemas['UserList']['users'][number];
export type LibraryApp = Schemas['LibraryPage']['apps'][number];
export type Fit = LibraryApp['fit'];
export type Capabilities = Schemas['DeviceModelList']['models'][number];
export type UsageOverTime = Schemas['OverTime'];
export type Latency = Schemas['LatencyReport'];
export type CheckedTools = Schemas['ToolSetCheck'];
export type TokenInfo = Schemas['TokenInfo'];
export type PluginPolicy = Schemas['PluginPolicy'];

/** Query parameters. Undefined and empty ones are omitted. */
export type Query = Record<string, string | number | undefined>;

export function withQuery(path: string, query: Query = {}): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(entries.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? path : `${path}?${text}`;
}

/** `headers`: for an operator, the user of the request. */
export async function get<T>(path: string, query?: Query, signal?: AbortSignal, headers: Record<string, string> = {}): Promise<T> {
  const response = await fetchRaw(withQuery(path, query), { headers, ...(signal && { signal }) });
  return (await response.json()) as T;
}

export async function send<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
  const json = body === undefined ? {} : { body: JSON.stringify(body) };
  const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
  const response = await fetchRaw(path, { method, headers: { ...headers, ...type }, ...json });
  return (response.status === 204 ? undefined : await response.json()) as T;
}

export const getMe = (signal?: AbortSignal) => get<Me>('/api/me', {}, signal);
export const getUsers = (q?: string) => get<{ users: KnownUser[] }>('/api/users', { q });
export const getLibrary = (query: { q?: string; after?: string; limit?: number }, signal?: AbortSignal) =>
  get<{ apps: LibraryApp[]; next: string | null }>('/api/library', query, signal);
export const getDevices = () => get<{ models: Capabilities[] }>('/api/devices');
export const getUsageOverTime = (query: Query) => get<UsageOverTime>('/api/usage/over-time', query);
export const getLatency = (query: Query) => get<Latency>('/api/usage/latency', query);
export const checkTools = (app: string, body: unknown) =>
  send<CheckedTools>('POST', `/api/apps/${encodeURIComponent(app)}/tools/check`, body);
export const getGlassesTicket = () => send<{ ticket: string; expiresInS: number }>('POST', '/api/glasses/ticket');
export const getTokens = (
  query: { before?: string | undefined; limit?: number },
  signal?: AbortSignal,
  headers: Record<string, string> = {},
) => get<Schemas['TokenList']>('/api/tokens', query, signal, headers);
export const addToken = (body: { name: string; user?: string; role?: Role; days?: number }) =>
  send<{ token: string; info: TokenInfo }>('POST', '/api/tokens', body);
export const revokeToken = (id: string) => send<void>('DELETE', `/api/tokens/${encodeURIComponent(id)}`);
export const getPluginPolicy = () => get<PluginPolicy>('/api/plugins/policy');
