/** A call needs the user to sign in to an upstream: the page tells where, and leads there. */
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { useMe } from '../../api/queries';
import { type UpstreamAccess, upstreamAccessQuery } from '../../api/upstream-access';
import { SignedInAs } from '../../shell/signed-in-as';
import { Button } from '../../ui/button';
import { ErrorBox, Loading, Notice } from '../../ui/feedback';
import { focusTitle } from '../../ui/focus-title';
import { foreignName } from '../../ui/labels';
import { Card, Page } from '../../ui/page';
import { useAttention } from '../authorize/use-attention';
import { RemoveAccess } from './remove-access';
import { pageState } from './state';
import './style.css';
import { usePollAccess } from './use-poll-access';
import { useStart } from './use-start';

export function UpstreamSignInPage() {
  const { id } = useParams({ from: '/upstreams/$id/sign-in' });
  return (
    <div className="upstream-sign-in-page">
      <UpstreamSignIn key={id} id={id} />
    </div>
  );
}

function UpstreamSignIn({ id }: { id: string }) {
  const access = useQuery(upstreamAccessQuery(id));
  const state = pageState(access.data, access.error);
  if (state === 'unknown' || state === 'not-oauth') return <NotPossible id={id} state={state} />;
  if (access.data !== undefined) return state === 'done' ? <Done id={id} access={access.data} /> : <Needed id={id} access={access.data} />;
  return (
    <Page title="Sign in to an MCP server">
      {state === 'loading' ? <Loading what="the MCP server" /> : <ErrorBox error={access.error} onRetry={() => void access.refetch()} />}
    </Page>
  );
}

interface Props {
  id: string;
  access: UpstreamAccess;
}

function Needed({ id, access }: Props) {
  const me = useMe();
  const name = foreignName(access.name, access.packageName);
  const { start, link, error, isBusy } = useStart(id);
  const { isReady, hasAttention } = useAttention();
  usePollAccess(id, !isBusy);
  useFocusIfLost();
  return (
    <Page title={`Sign in to ${name}?`} lead={<SignedInAs user={me.name} />}>
      <Card>
        <p className="anywhere">
          The MCP server “{name}” (<code>{access.packageName}</code>, at{' '}
          <strong>
            <bdi>{access.host}</bdi>
          </strong>
          ) needs you to sign in there.
        </p>
        <p className="flat anywhere">
          Toolyard keeps the access for your account <strong>{me.name}</strong> only, and calls that wait continue by themselves.
        </p>
      </Card>
      <Started link={link} error={error} />
      <div className="decision">
        <Button kind="primary" aria-disabled={isBusy || !isReady} onClick={() => void (hasAttention() && start())}>
          {isBusy ? 'Opening …' : 'Continue to sign in'}
        </Button>
      </div>
    </Page>
  );
}

function Done({ id, access }: Props) {
  const me = useMe();
  const name = foreignName(access.name, access.packageName);
  const { start, link, error, isBusy } = useStart(id);
  const { isReady, hasAttention } = useAttention();
  useFocusIfLost();
  return (
    <Page
      title={`Signed in to ${name}`}
      lead={
        <>
          Toolyard keeps this access for your account <strong className="anywhere">{me.name}</strong> only.
        </>
      }
    >
      <Notice kind="good">
        <p className="anywhere">You are signed in to {name}. Waiting calls continue by themselves. You can close this page.</p>
      </Notice>
      <Started link={link} error={error} />
      <div className="decision">
        <RemoveAccess id={id} name={name} user={me.name} />
        <Button aria-disabled={isBusy || !isReady} onClick={() => void (hasAttention() && start())}>
          {isBusy ? 'Opening …' : 'Sign in again'}
        </Button>
      </div>
    </Page>
  );
}

/** What became of the press: an error, or a link in case that the browser does not follow by itself. */
function Started({ link, error }: { link: string | undefined; error: unknown }) {
  if (link !== undefined) {
    return (
      <p className="anywhere" role="status">
        If nothing happens, <a href={link}>continue to {new URL(link).host}</a>.
      </p>
    );
  }
  return error == null ? null : <ErrorBox error={error} />;
}

function NotPossible({ id, state }: { id: string; state: 'unknown' | 'not-oauth' }) {
  const me = useMe();
  const packageName = foreignName(`mcp.${id}`, 'mcp');
  useEffect(() => focusTitle(), []);
  const frame = (title: string, text: ReactNode) => (
    <Page title={title} lead={<SignedInAs user={me.name} />}>
      <p className="anywhere">{text}</p>
      <p>{me.builds ? <Link to="/apps">Go to Apps</Link> : <Link to="/library">Go to the library</Link>}</p>
    </Page>
  );
  return state === 'unknown'
    ? frame(
        'You do not have this MCP server',
        <>
          There is no <code>{packageName}</code> for your account. It was removed, you have not installed it, or the link is for another
          account.
        </>,
      )
    : frame(
        'No sign-in needed',
        <>
          The MCP server <code>{packageName}</code> does not ask its users to sign in.
        </>,
      );
}

/** The button that had the focus is gone when the page changes by itself. */
function useFocusIfLost(): void {
  useEffect(() => {
    if (document.activeElement === null || document.activeElement === document.body) focusTitle();
  }, []);
}
