/** A list of tokens, which can be revoked. */
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { revokeToken, type TokenInfo } from '../../api/console';
import { queryClient } from '../../api/queries';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/dialog';
import { Badge } from '../../ui/feedback';
import { Ago } from '../../ui/time';
import { toast, toastError } from '../../ui/toast';
import { tokenState } from './token-state';

export function TokenList({ tokens, withWhom }: { tokens: readonly TokenInfo[]; withWhom: boolean }) {
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
