import type { Me } from '../api/console';
import { refusedBy } from '../api/error';
import { credentials, type Session } from '../api/session';

/** Who that would be. Asked before a session is kept: one that the server refuses would leave the console with nothing but its refusal. */
export async function believed(next: Session): Promise<Me> {
  const response = await fetch('/api/me', { headers: credentials(next) });
  if (!response.ok) throw await refusedBy(response);
  return (await response.json()) as Me;
}
