/** The sign-in page of a user who is signed in: goes to the page that they wanted. */
import { useRouter, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import type { Me } from '../api/console';
import { useLinkCode } from '../sign-in/link-code';
import { LinkSignIn } from '../sign-in/link-form';
import { problemText } from '../sign-in/messages';
import { forgetReturn, returnPath } from '../sign-in/return-path';
import { ErrorBox, Loading, Notice } from '../ui/feedback';
import { SignInFrame } from './sign-in-frame';

export function SignedInPage({ me }: { me: Me }) {
  const { problem, done, return: named } = useSearch({ strict: false });
  const code = useLinkCode();
  const next = returnPath(named);
  if (code === null && problem === undefined && done === undefined) return <GoOn next={next} />;
  return (
    <SignInFrame>
      {done !== undefined && (
        <Notice kind="good">You are signed in as {me.name}. You can close this tab and return to the other one.</Notice>
      )}
      {problem !== undefined && <ErrorBox error={problemText(problem)} />}
      {code !== null && <LinkSignIn code={code} signedInAs={me.name} />}
      <p className="sign-in-next">
        <a href={next}>Continue as {me.name}</a>
      </p>
    </SignInFrame>
  );
}

function GoOn({ next }: { next: string }) {
  const { history } = useRouter();
  useEffect(() => {
    forgetReturn();
    history.replace(next);
  }, [history, next]);
  return <Loading what="Toolyard" />;
}
