/**
 * Accounts: how the signed-in user signs in, their browser sessions and data, and the people that operators manage. The types follow the
 * names of the server's schemas, so that generated ones can replace them.
 */
import { queryOptions } from '@tanstack/react-query';
import { fetchRaw } from './client';
import { get, send, type Role } from './console';

/** Response to `GET /api/sign-in`: the ways to sign in that the server offers. */
export interface SignInOptions {
  passwords: boolean;
  passkeys: boolean;
  issuers: IssuerInfo[];
  devMode: boolean;
}

/** An identity provider. */
export interface IssuerInfo {
  id: string;
  name: string;
}

export interface SignedIn {
  userId: string;
  role: Role;
}

/** The challenge for a passkey. `state` is returned with the answer. */
export interface PasskeyChallenge<Options> {
  state: string;
  options: Options;
}

export type SignInMethod = 'password' | 'passkey' | 'link' | 'issuer';

/** The account of the caller. */
interface OwnAccount {
  email?: string | null;
  name?: string | null;
  groups: string[];
}

/** The browser session of the caller. */
interface OwnSession {
  id: string;
  method: SignInMethod;
  startedAt: string;
  endsAt: string;
}

/** What `GET /api/me` adds to the generated `CallerProfile`. */
export interface AccountProfile {
  /** Null: the user has no account yet. */
  account?: OwnAccount | null;
  /** Null: not signed in by cookie. */
  session?: OwnSession | null;
}

export interface BrowserSessionInfo {
  id: string;
  current: boolean;
  method: SignInMethod;
  /** For example "Chrome on Linux". */
  device: string;
  startedAt: string;
  lastSeenAt: string;
  endsAt: string;
}

export interface PasskeyInfo {
  id: string;
  name: string;
  createdAt: string;
  lastUsedAt?: string | null;
}

export interface SignInSettings {
  password?: { changedAt: string } | null;
  passkeys: PasskeyInfo[];
  /** The name of the issuer that manages the account. */
  managedBy?: string | null;
  passkeysAvailable: boolean;
  passwordsAvailable: boolean;
}

/** One user in the list of people. Users without an account have used the server, but never signed in. */
export interface UserSummary {
  userId: string;
  live: boolean;
  deviceModel?: string | null;
  apps: number;
  hasAccount: boolean;
  email?: string | null;
  name?: string | null;
  role?: Role | null;
  groups: string[];
  createdAt?: string | null;
  lastSeenAt?: string | null;
  disabled: boolean;
}

export interface UserPage {
  users: UserSummary[];
  next?: string | null;
}

export interface AccountInfo {
  userId: string;
  email?: string | null;
  name?: string | null;
  role: Role;
  groups: string[];
  createdAt: string;
  lastSeenAt?: string | null;
  disabledAt?: string | null;
  managedBy?: string | null;
  hasPassword: boolean;
  passkeys: number;
  sessions: BrowserSessionInfo[];
  tokens: number;
  clients: number;
  apps: number;
  calls30Days: number;
}

export interface NewAccount {
  userId: string;
  email?: string;
  name?: string;
  role?: Role;
  groups?: string[];
  invite?: boolean;
}

export interface CreatedAccount {
  user: AccountInfo;
  link?: SignInLink | null;
}

export interface AccountChange {
  email?: string | null;
  name?: string | null;
  role?: Role;
  groups?: string[];
  disabled?: boolean;
}

/** A one-time link. */
export interface SignInLink {
  url: string;
  expiresAt: string;
}

/** A program that wants to sign in on a device. */
export interface DeviceLoginInfo {
  userCode: string;
  /** What the program calls itself. */
  name: string;
  createdAt: string;
  expiresAt: string;
}

/** `days`: how long the token of the program is valid. */
export interface DeviceLoginAnswer {
  approve: boolean;
  days?: number;
}

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
