/** Requests to the server, typed by its OpenAPI document, with the user's credential. */
import createClient, { type Middleware } from 'openapi-fetch';
import { Refused, refusedBy } from './error';
import type { paths } from './schema';
import { credentials, session, signOut } from './session';

const withCredential: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(credentials())) {
      if (!request.headers.has(name)) request.headers.set(name, value);
    }
    return request;
  },
  async onResponse({ response, request }) {
    if (response.ok) return response;
    throw await refusal(response, request.headers.get('Authorization'));
  },
};

/** `api.GET('/api/tools')`: types of paths, parameters and answers are the server's. Throws [Refused] where it says no. */
export const api = createClient<paths>({ baseUrl: window.location.origin });
api.use(withCredential);

/** The data of an answer; a refusal was thrown before. */
export async function data<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}

/** For what is not JSON: files, event streams. */
export async function plain(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  for (const [name, value] of Object.entries(credentials())) {
    if (!headers.has(name)) headers.set(name, value);
  }
  const response = await fetch(path, { ...init, headers });
  if (!response.ok) throw await refusal(response, headers.get('Authorization'));
  return response;
}

async function refusal(response: Response, used: string | null): Promise<Refused> {
  const refused = await refusedBy(response);
  const who = session();
  // The token ended or was revoked: ask for another one. A credential that is not the current one says nothing about it.
  if (response.status === 401 && who?.kind === 'token' && used === `Bearer ${who.token}` && !refused.noSession) signOut('ended');
  return refused;
}
