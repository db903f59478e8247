/** Who asks, for which account, and what the client may do. Nothing here is a form: Enter in a field must not connect. */
import { useMutation } from '@tanstack/react-query';
import { useEffect, useId, useRef, useState } from 'react';
import { type ConsentDecision, type ConsentInfo, consentQuery, postConsent } from '../../api/clients';
import { ApiError, isSignedOut } from '../../api/error';
import { queryClient } from '../../api/queries';
import {
  approvalOf,
  clientName,
  type ConsentSelection,
  durationOptions,
  initialSelection,
  isSafeRedirect,
  offeredScopes,
  selectionProblem,
  usesTools,
} from '../../clients/consent';
import { OFFLINE_ACCESS } from '../../clients/scopes';
import { SignedInAs } from '../../shell/signed-in-as';
import { Button } from '../../ui/button';
import { ErrorBox } from '../../ui/feedback';
import { focusTitle } from '../../ui/focus-title';
import { Field, Select } from '../../ui/form';
import { countLabel } from '../../ui/labels';
import { Page } from '../../ui/page';
import { AppChoice } from './app-choice';
import { ClientFacts } from './client-facts';
import { Permissions } from './permissions';
import { useAttention } from './use-attention';

export interface ConsentAnswer {
  approved: boolean;
  name: string;
  host: string;
  redirect: string;
}

interface Props {
  request: string;
  info: ConsentInfo;
  onAnswer: (answer: ConsentAnswer) => void;
}

export function ConsentForm({ request, info, onAnswer }: Props) {
  const [selection, setSelection] = useState(() => initialSelection(info));
  const change = (part: Partial<ConsentSelection>) => setSelection((before) => ({ ...before, ...part }));
  const name = clientName(info.client.name);
  const { decide, error, pending } = useDecision(request, { name, host: info.redirectHost }, onAnswer);
  const { isReady, hasAttention } = useAttention();
  const problem = selectionProblem(selection);
  const problemId = useId();
  useEffect(() => {
    if (document.activeElement === null || document.activeElement === document.body) focusTitle();
  }, []);
  return (
    <Page title={`Connect ${name}?`} lead={<SignedInAs user={info.user} />}>
      <ClientFacts info={info} name={name} />
      <Permissions info={info} selected={selection.scopes} onChange={(scopes) => change({ scopes })} />
      {usesTools(offeredScopes(info)) && <AppChoice info={info} selection={selection} onChange={change} />}
      <Duration info={info} days={selection.days} onChange={(days) => change({ days })} />
      {error !== null && !isSignedOut(error) && <ErrorBox error={error} />}
      <p id={problemId} className="error-text" role="alert">
        {problem}
      </p>
      <div className="decision">
        <Button aria-disabled={pending !== undefined} onClick={() => decide({ request, approve: false })}>
          Cancel
        </Button>
        <Button
          kind="primary"
          disabled={problem !== undefined}
          aria-describedby={problemId}
          aria-disabled={pending !== undefined || !isReady}
          onClick={() => {
            if (hasAttention()) decide(approvalOf(request, info, selection));
          }}
        >
          {pending === 'approve' ? 'Connecting …' : 'Connect'}
        </Button>
      </div>
    </Page>
  );
}

/** Sends the decision once, and follows the server's redirect to the client. */
function useDecision(request: string, client: { name: string; host: string }, onAnswer: (answer: ConsentAnswer) => void) {
  // Known at once, unlike the state of the mutation.
  const isSent = useRef(false);
  const send = useMutation({
    mutationFn: async (decision: ConsentDecision) => {
      const { redirect } = await postConsent(decision);
      if (!isSafeRedirect(redirect)) throw new Error('The client asks to return to an address that the console does not open.');
      return redirect;
    },
    onSuccess: (redirect, { approve }) => {
      onAnswer({ ...client, approved: approve, redirect });
      window.location.assign(redirect);
    },
    onError: (error) => {
      isSent.current = false;
      // If the request itself is over, the page says so.
      if (error instanceof ApiError && error.status === 400)
        void queryClient.invalidateQueries({ queryKey: consentQuery(request).queryKey });
    },
  });
  const decide = (decision: ConsentDecision) => {
    if (isSent.current) return;
    isSent.current = true;
    send.mutate(decision);
  };
  const pending = send.isPending ? (send.variables.approve ? ('approve' as const) : ('deny' as const)) : undefined;
  return { decide, error: send.error, pending };
}

const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: 'long' });
const DAY_MS = 86_400_000;

function Duration({ info, days, onChange }: { info: ConsentInfo; days: number; onChange: (days: number) => void }) {
  const options = durationOptions(info).map((one) => ({ value: String(one), label: countLabel(one, 'day') }));
  const until = DATE.format(new Date(Date.now() + days * DAY_MS));
  const hint = info.scopes.includes(OFFLINE_ACCESS) ? `Stay connected until ${until}.` : `Access ends on ${until} at the latest.`;
  return (
    <section className="card">
      <Field label="How long" hint={`${hint} You can disconnect the client earlier in Settings.`}>
        <Select value={String(days)} onChange={(next) => onChange(Number(next))} options={options} />
      </Field>
    </section>
  );
}
