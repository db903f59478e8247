/** Who comes back with a new token: the user of before, or somebody else. */
import type { Me } from '../api/console';
import { Refused } from '../api/error';
import type { Session } from '../api/session';

type Named = Pick<Me, 'name' | 'userId'>;

export interface Back {
  session: Session;
  /** Whether the page of before is theirs. */
  isSame: boolean;
}

/**
 * `before` and `was`: the session that lapsed, and who that was. An operator who acted for a user has to be able to do so with
 * the new token as well, else what stands on the page is not theirs. Throws what the server says of a token that is no good.
 */
export async function comeBack(token: string, before: Session | null, was: Named, ask: (next: Session) => Promise<Named>): Promise<Back> {
  const own: Session = { kind: 'token', token };
  const actingFor = before?.kind === 'token' ? before.actingFor : undefined;
  const same: Session = actingFor === undefined ? own : { ...own, actingFor };
  const found = await ask(same).catch((error: unknown) => {
    if (same === own || !(error instanceof Refused) || error.status !== 403) throw error;
    return null;
  });
  if (found !== null && isSame(found, was)) return { session: same, isSame: true };
  // Whoever it is, they begin as themselves.
  return { session: own, isSame: false };
}

const isSame = (one: Named, other: Named) => one.name === other.name && (one.userId ?? null) === (other.userId ?? null);
