/** What went wrong at sign-in, and what to do about it. */
import { SIGN_IN_FAILED, type SignInMethod } from '../api/accounts';
import { ApiError, errorText } from '../api/error';
import { countLabel } from '../ui/labels';
import { passkeyErrorText } from './passkeys';

const RATE_LIMITED = 'RATE_LIMITED';

/** The server gives one reason for all failures, so that strangers do not learn which accounts exist. */
const FAILED: Readonly<Record<SignInMethod, string>> = {
  password:
    'The account or the password is wrong. Check both and try again. If you forgot your password, ask the operator of this server for a sign-in link.',
  passkey: 'This server does not know this passkey. Choose another one, or sign in another way.',
  link: 'This link was already used, has expired, or is incomplete. Ask the operator of this server for a new one, or sign in another way.',
  issuer: 'The sign-in failed. Try again.',
};

export function signInErrorText(error: unknown, method: SignInMethod): string {
  if (error instanceof ApiError && error.code === SIGN_IN_FAILED) return FAILED[method];
  if (error instanceof ApiError && (error.code === RATE_LIMITED || error.status === 429)) {
    return `Too many attempts. ${waitText(error.retryAfterMs)} then try again.`;
  }
  return passkeyErrorText(error) ?? errorText(error);
}

function waitText(ms: number | undefined): string {
  if (ms === undefined) return 'Wait a few minutes,';
  const seconds = Math.max(1, Math.ceil(ms / 1_000));
  return `Wait ${seconds < 90 ? countLabel(seconds, 'second') : countLabel(Math.ceil(seconds / 60), 'minute')},`;
}

/** Why an issuer's sign-in ended without a session: the `problem` in the address. */
const PROBLEMS = {
  denied: 'The sign-in was cancelled or refused there. Try again, or sign in another way.',
  'not-allowed':
    'Your account there is not allowed on this server. Ask the operator of this server for access, or sign in with another account.',
  disabled: 'Your account on this server is disabled. Ask the operator of this server to enable it.',
  expired: 'The sign-in took too long, or continued in another browser. Try again.',
  taken:
    'An account with this name exists on this server, and signs in another way. Sign in the way you used before, or ask the operator of this server.',
  unreachable: 'The sign-in service did not respond. Try again in a few minutes, or sign in another way.',
  failed: 'The sign-in failed. Try again. If it fails again, ask the operator of this server to look at its log.',
} as const;

const isProblem = (word: string): word is keyof typeof PROBLEMS => Object.hasOwn(PROBLEMS, word);

export const problemText = (word: string) => PROBLEMS[isProblem(word) ? word : 'failed'];
