/** A program on a device wants to sign in: the user compares its code, and decides. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { answerDeviceLogin, deviceLoginQuery, type DeviceLoginInfo } from '../../api/accounts';
import { ApiError, isSignedOut } from '../../api/error';
import { queryClient, useMe } from '../../api/queries';
import { leave } from '../../api/sign-out';
import { SignedInAs } from '../../shell/signed-in-as';
import { withFreshSignIn } from '../../sign-in/fresh';
import { Button } from '../../ui/button';
import { Fact, Facts } from '../../ui/facts';
import { ErrorBox, Loading, Notice } from '../../ui/feedback';
import { focusTitle } from '../../ui/focus-title';
import { Field, Input, Select } from '../../ui/form';
import { countLabel } from '../../ui/labels';
import { Card, Page } from '../../ui/page';
import { Ago } from '../../ui/time';
import { toastError } from '../../ui/toast';
import { useUrlParams } from '../../ui/url-state';
import { useAttention } from '../authorize/use-attention';
import './style.css';

export function DevicePage() {
  const [{ code }, change] = useUrlParams();
  return (
    <div className="device-page">
      {code === undefined ? (
        <EnterCode onCode={(next) => change({ code: next })} />
      ) : (
        <DeviceLogin key={code} code={code} onOther={() => change({ code: undefined })} />
      )}
    </div>
  );
}

function EnterCode({ onCode }: { onCode: (code: string) => void }) {
  const [code, setCode] = useState('');
  return (
    <Page title="Sign in on a device" lead="Enter the code that the program shows.">
      <form
        className="card"
        onSubmit={(event) => {
          event.preventDefault();
          if (code.trim() !== '') onCode(code.trim().toUpperCase());
        }}
      >
        <Field label="Code" hint="For example BCDF-GHJK">
          <Input value={code} onChange={setCode} autoComplete="off" autoCapitalize="characters" spellCheck={false} maxLength={20} />
        </Field>
        <Button type="submit" kind="primary" disabled={code.trim() === ''}>
          Continue
        </Button>
      </form>
    </Page>
  );
}

function DeviceLogin({ code, onOther }: { code: string; onOther: () => void }) {
  const login = useQuery(deviceLoginQuery(code));
  const [isApproved, setApproved] = useState<boolean>();
  if (isApproved !== undefined) return <Answered isApproved={isApproved} name={login.data?.name ?? 'The program'} />;
  if (login.data !== undefined) return <Decision login={login.data} onAnswer={setApproved} />;
  if (login.isPending) {
    return (
      <Page title="Sign in on a device">
        <Loading what="the program" />
      </Page>
    );
  }
  return <NotPossible error={login.error} onRetry={() => void login.refetch()} onOther={onOther} />;
}

const DAYS = [1, 7, 30, 90].map((days) => ({ value: String(days), label: countLabel(days, 'day') }));

function Decision({ login, onAnswer }: { login: DeviceLoginInfo; onAnswer: (isApproved: boolean) => void }) {
  const me = useMe();
  const [days, setDays] = useState('30');
  const { isReady, hasAttention } = useAttention();
  const answer = useMutation({
    mutationFn: (approve: boolean) =>
      withFreshSignIn(() => answerDeviceLogin(login.userCode, approve ? { approve, days: Number(days) } : { approve })),
    onSuccess: (_, approve) => onAnswer(approve),
    onError: (error) => {
      // If the request itself is over, the page says so.
      if (error instanceof ApiError && error.status === 404)
        void queryClient.invalidateQueries({ queryKey: deviceLoginQuery(login.userCode).queryKey });
    },
  });
  useEffect(() => focusTitle(), []);
  const send = (approve: boolean) => void (answer.isPending || answer.mutate(approve));
  return (
    <Page title={`Sign in ${login.name}?`} lead={<SignedInAs user={me.name} />}>
      <Card>
        <p className="code">{login.userCode}</p>
        <Notice kind="warn">
          Only continue if you started this yourself on a device in front of you, and it shows this code. Otherwise someone else gets access
          to your account.
        </Notice>
        <Facts>
          <Fact label="Program">{login.name}</Fact>
          <Fact label="Asked">
            <Ago at={login.createdAt} />
          </Fact>
          <Fact label="Access">Everything that you can do, as {me.role}</Fact>
        </Facts>
      </Card>
      <section className="card">
        <Field label="How long" hint="You can revoke the token earlier in Settings, Tokens.">
          <Select value={days} onChange={setDays} options={DAYS} />
        </Field>
      </section>
      {answer.error && !isSignedOut(answer.error) && <ErrorBox error={answer.error} />}
      <div className="decision">
        <Button aria-disabled={answer.isPending} onClick={() => send(false)}>
          Refuse
        </Button>
        <Button
          kind="primary"
          aria-disabled={answer.isPending || !isReady}
          onClick={() => {
            if (hasAttention()) send(true);
          }}
        >
          Sign in the program
        </Button>
      </div>
    </Page>
  );
}

function Answered({ isApproved, name }: { isApproved: boolean; name: string }) {
  useEffect(() => focusTitle(), []);
  return (
    <Page title={isApproved ? 'Return to your device' : 'Refused'}>
      <Notice kind={isApproved ? 'good' : 'info'}>
        {isApproved ? `${name} is signed in within a few seconds.` : `${name} gets no access.`} You can close this page.
      </Notice>
    </Page>
  );
}

function NotPossible({ error, onRetry, onOther }: { error: unknown; onRetry: () => void; onOther: () => void }) {
  useEffect(() => focusTitle(), []);
  const status = error instanceof ApiError ? error.status : undefined;
  if (status === 403) {
    return (
      <Page title="You use a token">
        <p>A token cannot sign in a program. Sign in in the browser to decide.</p>
        <Button kind="primary" onClick={() => void leave().catch(toastError)}>
          Sign out and sign in in the browser
        </Button>
      </Page>
    );
  }
  if (status === 404 || status === 400) {
    return (
      <Page title="No program waits with this code">
        <p>A code works once, for ten minutes. Compare it with the one on your device, or start again there.</p>
        <Button kind="primary" onClick={onOther}>
          Enter another code
        </Button>
      </Page>
    );
  }
  return (
    <Page title="Sign in on a device">
      <ErrorBox error={error} onRetry={onRetry} />
    </Page>
  );
}
