/** Accounts: how the signed-in user signs in, their browser sessions and data, and the people that operators manage. */
import { queryOptions } from '@tanstack/react-query';
import { fetchRaw } from './client';
import { get, send } from './console';
import type { components } from './schema';

type Schemas = components['schemas'];

export type SignInOptions = Schemas['SignInOptions'];
export type IssuerInfo = Schemas['IssuerInfo'];
export type SignedIn = Schemas['SignedIn'];
/** `options`: for `navigator.credentials`. `state` is returned with the answer. */
export type PasskeyChallenge<Options> = Omit<Schemas['PasskeyChallenge'], 'options'> & { options: Options };
export type SignInMethod = Schemas['SignInMethod'];
/** `account`: null if the user has none. `session`: null if the credential is not a cookie. */
export type AccountProfile = Pick<Schemas['CallerProfile'], 'account' | 'session'>;
export type BrowserSessionInfo = Schemas['BrowserSessionInfo'];
export type PasskeyInfo = Schemas['PasskeyInfo'];
export type SignInSettings = Schemas['SignInSettings'];
export type UserSummary = Schemas['UserSummary'];
export type UserPage = Schemas['UserList'];
export type AccountInfo = Schemas['AccountInfo'];
/** Members with a default may be left out; the generated type requires them. */
export type NewAccount = Partial<Schemas['NewAccount']> & Pick<Schemas['NewAccount'], 'userId'>;
export type CreatedAccount = Schemas['CreatedAccount'];
export type AccountChange = Schemas['AccountChange'];
export type SignInLink = Schemas['SignInLink'];
export type DeviceLoginInfo = Schemas['DeviceLoginInfo'];
export type DeviceLoginAnswer = Partial<Schemas['DeviceLoginAnswer']> & Pick<Schemas['DeviceLoginAnswer'], 'approve'>;

/** The user, password, passkey or link is wrong. */
export const SIGN_IN_FAILED = 'SIGN_IN_FAILED';
/** The session is too old for this change: the user must sign in again. */
export const SIGN_IN_AGAIN = 'SIGN_IN_AGAIN';

const SESSIONS = '/api/me/sessions';
const PASSKEYS = '/api/me/passkeys';
const PASSWORD = '/api/me/password';
const at = (root: string, id: string) => `${root}/${encodeURIComponent(id)}`;

/** The first part of the keys of all queries about the own account. */
export const ACCOUNT_KEY = 'account';

export const signInSettingsQuery = queryOptions({
  queryKey: [ACCOUNT_KEY, 'sign-in'],
  queryFn: ({ signal }) => get<SignInSettings>('/api/me/sign-in', {}, signal),
});

export const sessionsQuery = queryOptions({
  queryKey: [ACCOUNT_KEY, 'sessions'],
  queryFn: ({ signal }) => get<{ sessions: BrowserSessionInfo[] }>(SESSIONS, {}, signal),
});

export const endSession = (id: string) => send<void>('DELETE', at(SESSIONS, id));
export const endOtherSessions = () => send<void>('DELETE', SESSIONS);
export const putPassword = (body: { password: string; current?: string }) => send<void>('PUT', PASSWORD, body);
export const removePassword = () => send<void>('DELETE', PASSWORD);
export const getPasskeyCreation = () => send<PasskeyChallenge<PublicKeyCredentialCreationOptionsJSON>>('POST', `${PASSKEYS}/challenge`, {});
export const addPasskey = (body: { state: string; name: string; credential: unknown }) => send<PasskeyInfo>('POST', PASSKEYS, body);
export const removePasskey = (id: string) => send<void>('DELETE', at(PASSKEYS, id));
export const getMyData = () => fetchRaw('/api/me/data');
export const deleteMyAccount = (confirm: string) => send<void>('DELETE', '/api/me', { confirm });

const USERS = '/api/users';

/** The first part of the keys of all queries about people. */
export const PEOPLE_KEY = 'people';

export const getPeople = (query: { q?: string; after?: string | undefined; limit?: number }, signal?: AbortSignal) =>
  get<UserPage>(USERS, query, signal);

export const personQuery = (id: string) =>
  queryOptions({ queryKey: [PEOPLE_KEY, 'one', id], queryFn: ({ signal }) => get<AccountInfo>(at(USERS, id), {}, signal) });

export const addPerson = (body: NewAccount) => send<CreatedAccount>('POST', USERS, body);
export const changePerson = (id: string, body: AccountChange) => send<AccountInfo>('PATCH', at(USERS, id), body);
export const signOutPerson = (id: string, body: { tokens: boolean; clients: boolean }) =>
  send<void>('POST', `${at(USERS, id)}/sign-out`, body);
export const getSignInLink = (id: string) => send<SignInLink>('POST', `${at(USERS, id)}/link`, {});
export const getPersonData = (id: string) => fetchRaw(`${at(USERS, id)}/data`);
export const deletePerson = (id: string, confirm: string) => send<void>('DELETE', at(USERS, id), { confirm });

const DEVICE_LOGINS = '/api/device-logins';

/** Fetched once: it must not change while the user decides. */
export const deviceLoginQuery = (code: string) =>
  queryOptions({
    queryKey: ['device-login', code],
    queryFn: ({ signal }) => get<DeviceLoginInfo>(at(DEVICE_LOGINS, code), {}, signal),
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });

export const answerDeviceLogin = (code: string, answer: DeviceLoginAnswer) => send<void>('POST', at(DEVICE_LOGINS, code), answer);
