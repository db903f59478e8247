/** The own account: who the user is, how they sign in, where they are signed in, and their data. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { signInSettingsQuery, type SignInSettings } from '../../../api/accounts';
import type { Me } from '../../../api/console';
import { useMe } from '../../../api/queries';
import { leave } from '../../../api/sign-out';
import { isActing } from '../../../push/session';
import { Button } from '../../../ui/button';
import { Fact, Facts } from '../../../ui/facts';
import { ErrorBox, Loading, Notice } from '../../../ui/feedback';
import { Card } from '../../../ui/page';
import { METHOD_TEXTS } from '../../../ui/roles';
import { Ago } from '../../../ui/time';
import { toastError } from '../../../ui/toast';
import { MyData } from './my-data';
import { Passkeys } from './passkeys';
import { Password } from './password';
import { Sessions } from './sessions';

export function Account() {
  const me = useMe();
  if (isActing(me)) {
    return (
      <Card title="Account">
        <p className="flat">
          You act for {me.userId}. To manage your own account, act for yourself. You can manage the account of {me.userId} in{' '}
          <Link to="/people/$id" params={{ id: me.userId ?? '' }}>
            People
          </Link>
          .
        </p>
      </Card>
    );
  }
  if (me.session == null && me.authMode !== 'dev') return <TokenOnly me={me} />;
  return <OwnAccount me={me} />;
}

function TokenOnly({ me }: { me: Me }) {
  return (
    <>
      <Profile me={me} managedBy={null} />
      <Card title="You use a token">
        <p>Sign in in the browser to manage your account: how you sign in, your browser sessions, and your data.</p>
        {me.account == null && <NoAccount me={me} />}
        <Button onClick={() => void leave().catch(toastError)}>Sign out and sign in in the browser</Button>
      </Card>
    </>
  );
}

function NoAccount({ me }: { me: Me }) {
  if (me.role !== 'operator') return <p>You have no account yet. Ask an operator of this server for one.</p>;
  return (
    <p>
      You have no account yet. Create one in{' '}
      <Link to="/people/$id" params={{ id: me.name }}>
        People
      </Link>
      , then sign in with its link.
    </p>
  );
}

function OwnAccount({ me }: { me: Me }) {
  const settings = useQuery(signInSettingsQuery);
  return (
    <>
      {settings.data && <AddWayToSignIn me={me} settings={settings.data} />}
      <Profile me={me} managedBy={settings.data?.managedBy ?? null} />
      {settings.isPending && <Loading what="how you sign in" />}
      {settings.error && <ErrorBox error={settings.error} onRetry={() => void settings.refetch()} />}
      {settings.data && <WaysToSignIn me={me} settings={settings.data} />}
      <Sessions />
      <MyData user={me.userId ?? me.name} />
    </>
  );
}

/** After a sign-in by link there is no way back in without another link. */
function AddWayToSignIn({ me, settings }: { me: Me; settings: SignInSettings }) {
  const { password, passkeys, managedBy, passkeysAvailable, passwordsAvailable } = settings;
  if (me.session?.method !== 'link' || password != null || passkeys.length > 0 || managedBy != null) return null;
  const ways = [passkeysAvailable && 'add a passkey', passwordsAvailable && 'set a password'].filter((way) => way !== false);
  if (ways.length === 0) return null;
  return <Notice kind="warn">Your sign-in link is used up. To sign in again later, {ways.join(' or ')} now.</Notice>;
}

function Profile({ me, managedBy }: { me: Me; managedBy: string | null }) {
  const { account } = me;
  return (
    <Card title="Account">
      <Facts>
        <Fact label="User ID">{me.userId ?? me.name}</Fact>
        <Fact label="Name">{account?.name ?? <NotSet />}</Fact>
        <Fact label="Email">{account?.email ?? <NotSet />}</Fact>
        <Fact label="Role">{me.role}</Fact>
        <Fact label="Groups">
          {account == null || account === undefined || account.groups.length === 0 ? 'None' : account.groups.join(', ')}
        </Fact>
        {me.session != null && (
          <Fact label="Signed in">
            <Ago at={me.session.startedAt} />, {METHOD_TEXTS[me.session.method]}
          </Fact>
        )}
      </Facts>
      <p className="muted flat below">
        {managedBy == null
          ? 'An operator of this server can change your name, email, role and groups.'
          : `${managedBy} manages this account: your name, email, role and groups come from there.`}
      </p>
    </Card>
  );
}

const NotSet = (): ReactNode => <span className="muted">Not set</span>;

function WaysToSignIn({ me, settings }: { me: Me; settings: SignInSettings }) {
  const { managedBy } = settings;
  return (
    <>
      {managedBy != null && (
        <Card title="Sign-in">
          <p className="flat">You sign in with {managedBy}.</p>
        </Card>
      )}
      <Passkeys passkeys={settings.passkeys} isAvailable={settings.passkeysAvailable} />
      <Password user={me.userId ?? me.name} password={settings.password} isAvailable={settings.passwordsAvailable} />
    </>
  );
}
