import type { SignInMethod } from '../api/accounts';
import type { Role } from '../api/console';

export const ROLES: { value: Role; label: string }[] = [
  { value: 'user', label: 'User: can use tools' },
  { value: 'developer', label: 'Developer: can also register apps' },
  { value: 'curator', label: 'Curator: can also sign plugins' },
  { value: 'operator', label: 'Operator: can do everything' },
];

/** How a browser session was started, after "signed in". */
export const METHOD_TEXTS: Readonly<Record<SignInMethod, string>> = {
  password: 'with a password',
  passkey: 'with a passkey',
  link: 'with a sign-in link',
  issuer: 'with a sign-in service',
};
