/** What the page shows when there is nothing to decide: the decision was made, or is not possible. */
import { useEffect } from 'react';
import { isRemembered, ownSession, session, signIn } from '../../api/session';
import { Button } from '../../ui/button';
import { ErrorBox, Notice } from '../../ui/feedback';
import { focusTitle } from '../../ui/focus-title';
import { Page } from '../../ui/page';
import type { ConsentAnswer } from './consent-form';

/** The browser follows by itself, except for schemes that no program on this computer handles. */
export function Returning({ answer: { approved, name, host, redirect } }: { answer: ConsentAnswer }) {
  useEffect(() => focusTitle(), []);
  return (
    <Page title={`Returning to ${host} …`}>
      <Notice kind={approved ? 'good' : 'info'}>
        {approved
          ? `${name} may now connect. You can disconnect it at any time in Settings, Connected clients.`
          : `You cancelled: ${name} gets no access.`}
      </Notice>
      <p>
        If nothing happens, <a href={redirect}>continue to {host}</a>. You can close this page.
      </p>
    </Page>
  );
}

export function RequestEnded({ message }: { message: string | undefined }) {
  useEffect(() => focusTitle(), []);
  return (
    <Page title="This request cannot be continued">
      {message !== undefined && <ErrorBox error={message} />}
      <p>A request can be answered once, within a few minutes. Start again in the client: connect to this server there.</p>
    </Page>
  );
}

/** A client gets access to the account of the user who decides, never to that of another user. */
export function ActingForOther({ message }: { message: string | undefined }) {
  const current = session();
  function stop() {
    const now = session();
    if (now !== null) signIn(ownSession(now), isRemembered());
  }
  return (
    <Page title="You cannot connect a client here">
      {message !== undefined && <ErrorBox error={message} />}
      {current !== null && current.kind !== 'dev' && current.actingFor !== undefined && (
        <>
          <p>
            You act for {current.actingFor}. Only {current.actingFor} can connect a client to that account.
          </p>
          <Button kind="primary" onClick={stop}>
            Continue with your own account
          </Button>
        </>
      )}
    </Page>
  );
}
