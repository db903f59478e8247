/** Sign-in with a new token after the old one lapsed: as the same user, or as another one. */
import type { Me } from '../api/console';
import { ApiError } from '../api/error';
import type { Session } from '../api/session';

type Named = Pick<Me, 'name' | 'userId'>;

export interface ResumedSession {
  session: Session;
  /** Whether the open page belongs to the same user. */
  isSame: boolean;
}

/**
 * `before` and `was`: the lapsed session and its user. An operator who acted for a user must be able to do so with the new token as well,
 * otherwise the page is not theirs. Throws the server's error if the token is invalid.
 */
export async function resumeSession(
  token: string,
  before: Session | null,
  was: Named,
  ask: (next: Session) => Promise<Named>,
): Promise<ResumedSession> {
  const own: Session = { kind: 'token', token };
  const actingFor = before?.kind === 'token' ? before.actingFor : undefined;
  const same: Session = actingFor === undefined ? own : { ...own, actingFor };
  const found = await ask(same).catch((error: unknown) => {
    if (same === own || !(error instanceof ApiError) || error.status !== 403) throw error;
    return null;
  });
  if (found !== null && isSame(found, was)) return { session: same, isSame: true };
  // A different user does not act for anyone yet.
  return { session: own, isSame: false };
}

const isSame = (one: Named, other: Named) => one.name === other.name && (one.userId ?? null) === (other.userId ?? null);
