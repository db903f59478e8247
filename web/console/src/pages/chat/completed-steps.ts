/** Which steps of the checklist the user has done. */
import { useQuery } from '@tanstack/react-query';
import type { CallSummary } from '../../api/calls';
import { clientsQuery } from '../../api/clients';
import { get, getTokens, type Me, type TokenInfo } from '../../api/console';
import { useMe } from '../../api/queries';
import { tokenState } from '../settings/token-state';
import { installsQuery } from '../tools/queries';
import { useConversations } from './conversations';

export interface CompletedSteps {
  client: boolean;
  install: boolean;
  call: boolean;
  conversation: boolean;
}

const TOKENS_READ = 100;

/** Undefined until everything is known. */
export function useCompletedSteps(user: string): CompletedSteps | undefined {
  const me = useMe();
  const conversations = useConversations(user);
  const clients = useQuery(clientsQuery);
  const tokens = useQuery({
    queryKey: ['tokens', 'newest'],
    queryFn: ({ signal }) => getTokens({ limit: TOKENS_READ }, signal),
  });
  const installs = useQuery(installsQuery);
  const calls = useQuery({
    queryKey: ['activity', 'latest-call', user],
    queryFn: ({ signal }) => get<{ calls: CallSummary[] }>('/api/calls', { limit: 1, user: me.operates ? user : undefined }, signal),
  });
  if (!clients.data || !tokens.data || !installs.data || !calls.data) return undefined;
  return {
    client: clients.data.clients.length > 0 || tokens.data.tokens.some((token) => isForProgram(token, me, user)),
    install: installs.data.installs.length > 0,
    call: calls.data.calls.length > 0,
    conversation: conversations.length > 0,
  };
}

/** Whether it is a valid token of the user, and not the one that this console is signed in with. */
function isForProgram(token: TokenInfo, { tokenEndsAt }: Me, user: string): boolean {
  return token.subject === user && tokenState(token, Date.now()) === 'good' && token.expiresAt !== tokenEndsAt;
}
