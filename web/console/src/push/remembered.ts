/** Which users turned on notifications in this browser. Kept after a sign-out, so that they are on again after the next sign-in. */

export interface RememberedSubscription {
  /** At the server. */
  id: string;
  /** At the push service. */
  endpoint: string;
}

const keyOf = (user: string) => `toolyard.push/${user}`;

export function readRemembered(user: string): RememberedSubscription | null {
  try {
    const kept = JSON.parse(localStorage.getItem(keyOf(user)) ?? 'null') as Partial<RememberedSubscription> | null;
    return typeof kept?.id === 'string' && typeof kept.endpoint === 'string' ? { id: kept.id, endpoint: kept.endpoint } : null;
  } catch {
    return null;
  }
}

export function remember(user: string, { id, endpoint }: RememberedSubscription): void {
  localStorage.setItem(keyOf(user), JSON.stringify({ id, endpoint }));
}

export const forget = (user: string) => localStorage.removeItem(keyOf(user));
