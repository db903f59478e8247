/** Tokens: list and create. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { KeyRound } from 'lucide-react';
import { useState } from 'react';
import { getTokens } from '../../api/console';
import { useMe } from '../../api/queries';
import { Button } from '../../ui/button';
import { Empty, ErrorBox, Loading } from '../../ui/feedback';
import { Check } from '../../ui/form';
import { MoreFromServer } from '../../ui/more';
import { useUrlParams } from '../../ui/url-state';
import { NewToken } from './new-token';
import { TokenList } from './token-list';
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
