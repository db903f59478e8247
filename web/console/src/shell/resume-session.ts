/** Sign-in after the session lapsed: as the same user, or as another one. */
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
 * `own`: the new cookie or token. `before` and `was`: the lapsed session and its user. An operator who acted for a user must be able to do
 * so with the new session as well, otherwise the page is not theirs. Throws the server's error if the new session is invalid.
 */
export async function resumeSession(
  own: Session,
  before: Session | null,
  was: Named,
  ask: (next: Session) => Promise<Named>,
): Promise<ResumedSession> {
  const actingFor = before === null || before.kind === 'dev' ? undefined : before.actingFor;
  const same: Session = actingFor === undefined || own.kind === 'dev' ? own : { ...own, actingFor };
  const found = await ask(same).catch((error: unknown) => {
    if (same === own || !(error instanceof ApiError) || error.status !== 403) throw error;
    return null;
  });
  if (found !== null && isSame(found, was)) return { session: same, isSame: true };
  // A different user does not act for anyone yet.
  return { session: own, isSame: false };
}

const isSame = (one: Named, other: Named) => one.name === other.name && (one.userId ?? null) === (other.userId ?? null);
