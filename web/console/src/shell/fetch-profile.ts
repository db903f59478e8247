import type { Me } from '../api/console';
import { parseErrorResponse } from '../api/error';
import { credentials, type Session } from '../api/session';

/**
 * Fetches the profile for a new session. Called before the session is stored, because an invalid one would leave the console with nothing
 * but an error.
 */
export async function fetchProfile(next: Session): Promise<Me> {
  const response = await fetch('/api/me', { headers: credentials(next) });
  if (!response.ok) throw await parseErrorResponse(response);
  return (await response.json()) as Me;
}
