/** The signed-in user's own access to an upstream that uses OAuth. */
import { queryOptions } from '@tanstack/react-query';
import { get, send } from './console';
import type { components } from './schema';

type Schemas = components['schemas'];

/** `name`: set by the owner of the upstream, not verified. `host`: where the user signs in. */
export type UpstreamAccess = Schemas['AuthorizationState'];

/** How long the server holds a request back until the user has access. */
const WAIT_S = 30;

const path = (id: string) => `/api/upstreams/${encodeURIComponent(id)}/authorize`;

/** Its key is below that of all upstreams, so that it is reloaded when the server reports that upstreams changed. */
export const upstreamAccessQuery = (id: string) =>
  queryOptions({ queryKey: ['upstreams', id, 'access'], queryFn: ({ signal }) => get<UpstreamAccess>(path(id), {}, signal) });

/** Answers as soon as the user has access, or with what is known after the wait. */
export const awaitUpstreamAccess = (id: string, signal: AbortSignal) => get<UpstreamAccess>(path(id), { wait: WAIT_S }, signal);

/** The upstream's page to sign in. This browser gets a cookie, so that the user need not confirm the sign-in on return. */
export const startUpstreamSignIn = (id: string) => send<Schemas['AuthorizationLink']>('POST', path(id));

export const removeUpstreamAccess = (id: string) => send<void>('DELETE', path(id));
