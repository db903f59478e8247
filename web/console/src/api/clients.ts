/** Connected clients, and the decision about a client that wants to connect. */
import { queryOptions } from '@tanstack/react-query';
import { get, send } from './console';
import type { components } from './schema';
import { asUser } from './session';

type Schemas = components['schemas'];

/** A client asks to connect. `expiresAt` is the end of the request, not of the connection. */
export type ConsentInfo = Schemas['ConsentInfo'];
export type ConsentApp = Schemas['ConsentApp'];
/** `apps`: null for all that the client asked for, also later ones. */
export type ConsentDecision = Schemas['ConsentDecision'];
export type ConsentOutcome = Schemas['ConsentOutcome'];
export type ConnectedClient = Schemas['ConnectedClient'];
export type ConnectedClientList = Schemas['ConnectedClientList'];

/** Fetched once: it must not change under the user's choices. */
export const consentQuery = (request: string) =>
  queryOptions({
    queryKey: ['consent', request],
    queryFn: ({ signal }) => get<ConsentInfo>('/api/oauth/consent', { request }, signal),
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });

export const postConsent = (decision: ConsentDecision) => send<ConsentOutcome>('POST', '/api/oauth/consent', decision);

/** The first part of the keys of all lists of clients. */
export const CLIENTS_KEY = 'clients';

export const clientsQuery = queryOptions({
  queryKey: [CLIENTS_KEY],
  queryFn: ({ signal }) => get<ConnectedClientList>('/api/clients', {}, signal),
});

/** The clients of another user, for operators. */
export const clientsOfQuery = (user: string) =>
  queryOptions({
    queryKey: [CLIENTS_KEY, 'of', user],
    queryFn: ({ signal }) => get<ConnectedClientList>('/api/clients', {}, signal, asUser(user)),
  });

const disconnect = (id: string, headers: Record<string, string>) =>
  send<void>('DELETE', `/api/clients/${encodeURIComponent(id)}`, undefined, headers);
export const disconnectClient = (id: string) => disconnect(id, {});
export const disconnectClientOf = (user: string, id: string) => disconnect(id, asUser(user));
