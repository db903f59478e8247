export type TokenState = 'good' | 'ended' | 'revoked';

export function stateOf(token: { expiresAt: string; revokedAt?: string | null }, now: number): TokenState {
  if (token.revokedAt != null) return 'revoked';
  return Date.parse(token.expiresAt) <= now ? 'ended' : 'good';
}
