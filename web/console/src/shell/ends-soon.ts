const SOON_MS = 10 * 60_000;

/** True in the last ten minutes of a token, and after it expired. */
export function endsSoon(endsAt: string, now: number): boolean {
  const left = Date.parse(endsAt) - now;
  return Number.isFinite(left) && left <= SOON_MS;
}
