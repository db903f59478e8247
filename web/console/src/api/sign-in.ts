/** Sign-in routes. They need no credential, and work while the session is lapsed: requests of `client.ts` would wait for the sign-in. */
import { queryOptions } from '@tanstack/react-query';
import type { PasskeyChallenge, SignedIn, SignInOptions } from './accounts';
import { parseErrorResponse } from './error';

async function ask<T>(path: string, init: RequestInit = {}): Promise<T> {
  const response = await fetch(path, init);
  if (!response.ok) throw await parseErrorResponse(response);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

const post = <T>(path: string, body: unknown) =>
  ask<T>(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

/** Fetched once: it changes only with the configuration of the server, and the form must not change while someone types. */
export const signInMethodsQuery = queryOptions({
  queryKey: ['sign-in-methods'],
  queryFn: ({ signal }) => ask<SignInOptions>('/api/sign-in', { signal }),
  staleTime: Infinity,
  refetchOnWindowFocus: false,
});

export const signInWithPassword = (user: string, password: string) => post<SignedIn>('/api/sign-in/password', { user, password });
export const getPasskeyRequest = () => post<PasskeyChallenge<PublicKeyCredentialRequestOptionsJSON>>('/api/sign-in/passkey/challenge', {});
export const signInWithPasskey = (state: string, credential: unknown) => post<SignedIn>('/api/sign-in/passkey', { state, credential });
export const signInWithLink = (code: string) => post<SignedIn>('/api/sign-in/link', { code });
export const postSignOut = () => post<void>('/api/sign-out', {});
