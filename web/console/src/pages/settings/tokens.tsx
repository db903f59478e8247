/** Tokens: list, create and revoke. */
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
import { tokenState } from './token-state';

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
  const shown = all.filter((token) => ended || tokenState(token, Date.now()) === 'good');
  return (
    <>
      <div className="row between tab-head">
        <p className="muted flat">
          A token lets a program or a device act for {me.operates ? 'a user' : 'you'}.{' '}
          {me.authMode === 'dev' && 'In dev mode none is needed on this machine.'}
        </p>
        <Button kind="primary" onClick={() => setMaking(true)} icon={<KeyRound size={16} aria-hidden />}>
          New token
        </Button>
      </div>
      {list.isPending && <Loading what="the tokens" />}
      {list.error && <ErrorBox error={list.error} onRetry={() => void list.refetch()} />}
      {all.length > 0 && (
        <Check label="Show expired and revoked tokens" checked={ended} onChange={(on) => change({ ended: on ? 'yes' : undefined })} />
      )}
      {shown.length === 0 && list.hasNextPage && <p className="muted">The newest {all.length} tokens have expired or were revoked.</p>}
      {list.data && shown.length === 0 && !list.hasNextPage && (
        <Empty title="No tokens">
          <p>Tokens that were created on the command line without the server's database are also valid, but not listed.</p>
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
    onSuccess: (_, token) => toast(`“${token.name}” was revoked.`),
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
                {withWhom && `For ${token.subject}, as ${token.role}. `}Created <Ago at={token.createdAt} />
                {withWhom && token.createdBy !== token.subject && ` by ${token.createdBy}`},{' '}
                {tokenState(token, Date.now()) === 'good' ? 'expires' : 'expiry:'} <Ago at={token.expiresAt} />
              </p>
            </div>
            {tokenState(token, Date.now()) === 'good' && (
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
            Everything that uses this token is rejected from now on. Tokens that were created with it are revoked too. This cannot be
            undone, but you can create new tokens.
          </p>
        </Confirm>
      )}
    </>
  );
}

function State({ token }: { token: TokenInfo }) {
  const state = tokenState(token, Date.now());
  if (state === 'revoked') return <Badge kind="bad">revoked</Badge>;
  return state === 'ended' ? <Badge>expired</Badge> : null;
}
