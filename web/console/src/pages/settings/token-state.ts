export type TokenState = 'good' | 'ended' | 'revoked';

export function tokenState(token: { expiresAt: string; revokedAt?: string | null }, now: number): TokenState {
  if (token.revokedAt != null) return 'revoked';
  return Date.parse(token.expiresAt) <= now ? 'ended' : 'good';
}
