/** Tokens: what is out there, a new one, and taking one back. */
import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { KeyRound } from 'lucide-react';
import { useState } from 'react';
import { getTokens, revokeToken, type TokenInfo } from '../../api/console';
import { queryClient, useMe } from '../../api/queries';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/dialog';
import { Badge, Empty, ErrorBox, Loading } from '../../ui/feedback';
import { Check } from '../../ui/form';
import { MoreFromServer } from '../../ui/more';
import { Ago } from '../../ui/time';
import { toast, toastError } from '../../ui/toast';
import { useUrlParams } from '../../ui/url-state';
import { NewToken } from './new-token';
import { stateOf } from './token-state';

const PAGE = 100;

export function Tokens() {
  const me = useMe();
  const list = useInfiniteQuery({
    queryKey: ['tokens'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => getTokens({ before: pageParam, limit: PAGE }, signal),
    getNextPageParam: (last) => last.next ?? undefined,
  });
  const [making, setMaking] = useState(false);
  const [params, change] = useUrlParams();
  const ended = params.ended === 'yes';
  const all = list.data?.pages.flatMap((page) => page.tokens) ?? [];
  const shown = all.filter((token) => ended || stateOf(token, Date.now()) === 'good');
  return (
    <>
      <div className="row between tab-head">
        <p className="muted flat">
          A token is how a program or a device acts for {me.operates ? 'somebody' : 'you'}.{' '}
          {me.authMode === 'dev' && 'In dev mode none is needed on this machine.'}
        </p>
        <Button kind="primary" onClick={() => setMaking(true)} icon={<KeyRound size={16} aria-hidden />}>
          New token
        </Button>
      </div>
      {list.isPending && <Loading what="the tokens" />}
      {list.error && <ErrorBox error={list.error} onRetry={() => void list.refetch()} />}
      {all.length > 0 && (
        <Check label="Show ended and revoked ones too" checked={ended} onChange={(on) => change({ ended: on ? 'yes' : undefined })} />
      )}
      {shown.length === 0 && list.hasNextPage && <p className="muted">The newest {all.length} tokens have ended or are revoked.</p>}
      {list.data && shown.length === 0 && !list.hasNextPage && (
        <Empty title="No tokens">
          <p>Tokens made on the command line without the server's database are good as well, but are not listed.</p>
        </Empty>
      )}
      {shown.length > 0 && <TokenList tokens={shown} withWhom={me.operates} />}
      <MoreFromServer pages={list} />
      {making && <NewToken onClose={() => setMaking(false)} />}
    </>
  );
}

function TokenList({ tokens, withWhom }: { tokens: readonly TokenInfo[]; withWhom: boolean }) {
  const [asked, ask] = useState<TokenInfo>();
  const revoke = useMutation({
    mutationFn: (token: TokenInfo) => revokeToken(token.id),
    onSuccess: (_, token) => toast(`“${token.name}” is revoked.`),
    onError: toastError,
    onSettled: () => {
      ask(undefined);
      return queryClient.invalidateQueries({ queryKey: ['tokens'] });
    },
  });
  return (
    <>
      <ul className="plain-list" aria-label="Tokens">
        {tokens.map((token) => (
          <li key={token.id} className="card row between">
            <div className="grow">
              <h2 className="row">
                {token.name} <State token={token} />
              </h2>
              <p className="muted flat anywhere">
                {withWhom && `For ${token.subject}, as ${token.role}. `}Made <Ago at={token.createdAt} />
                {withWhom && token.createdBy !== token.subject && ` by ${token.createdBy}`},{' '}
                {stateOf(token, Date.now()) === 'good' ? 'ends' : 'its end'} <Ago at={token.expiresAt} />
              </p>
            </div>
            {stateOf(token, Date.now()) === 'good' && (
              <Button small kind="danger" onClick={() => ask(token)} aria-label={`Revoke ${token.name}`}>
                Revoke
              </Button>
            )}
          </li>
        ))}
      </ul>
      {asked !== undefined && (
        <Confirm
          title={`Revoke “${asked.name}”?`}
          action="Revoke"
          danger
          busy={revoke.isPending}
          onConfirm={() => revoke.mutate(asked)}
          onClose={() => ask(undefined)}
        >
          <p>
            Whatever uses this token is refused from now on. Tokens that were made with it are revoked too. It cannot be undone; new tokens
            can be made.
          </p>
        </Confirm>
      )}
    </>
  );
}

function State({ token }: { token: TokenInfo }) {
  const state = stateOf(token, Date.now());
  if (state === 'revoked') return <Badge kind="bad">revoked</Badge>;
  return state === 'ended' ? <Badge>ended</Badge> : null;
}
