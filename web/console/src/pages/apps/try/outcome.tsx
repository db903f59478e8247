/** The result of a call: whether the app was woken, progress, the result, and the time of each step. */
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Ban, CircleCheck } from 'lucide-react';
import { api, responseData } from '../../../api/client';
import { Button } from '../../../ui/button';
import { Code } from '../../../ui/code';
import { Badge, ErrorBox, Notice } from '../../../ui/feedback';
import { Card } from '../../../ui/page';
import { duration } from '../../../ui/time';
import { toastError } from '../../../ui/toast';
import { appsChanged, type App } from '../api';
import { helpFor, type Help } from './help';
import { Steps } from './steps';
import { asUser, type CallSummary, type Outcome, type Progress } from './run';

export type AttemptState = { progress: readonly Progress[] } & (
  | { state: 'running' }
  | { state: 'stopped' }
  | { state: 'failed'; error: unknown }
  | {
      state: 'done';
      outcome: Outcome;
      user: string;
      tool: string;
      arguments: unknown;
      /** `null`: it is not in the ledger. */
      record?: CallSummary | null;
    }
);

interface Props {
  attempted: AttemptState;
  app: App;
  user: string;
  isOther: boolean;
  onAgain: () => void;
}

/** Longer results are truncated on the screen. */
const MOST_SHOWN = 100_000;

export function CallReport(props: Props) {
  const { attempted } = props;
  return (
    <Card title="What happened">
      <div aria-live="polite">
        {attempted.state === 'running' && (
          <p className="running">
            <span className="spinner" aria-hidden /> Running …
          </p>
        )}
        {attempted.state === 'stopped' && <Notice>Stopped. The app was notified.</Notice>}
        {attempted.state === 'failed' && <ErrorBox error={attempted.error} />}
        <ProgressList progress={attempted.progress} />
        {attempted.state === 'done' && <Done {...props} done={attempted} />}
      </div>
    </Card>
  );
}

function ProgressList({ progress }: { progress: readonly Progress[] }) {
  if (progress.length === 0) return null;
  return (
    <ol className="progress-list">
      {progress.map(({ progress: done, total, message }, place) => (
        <li key={place}>
          {done !== undefined && <progress value={done} max={total ?? 1} aria-label="Progress" />}
          {message ?? ''}
        </li>
      ))}
    </ol>
  );
}

function Done({ done, app, user, isOther, onAgain }: Props & { done: Extract<AttemptState, { state: 'done' }> }) {
  const { outcome, record } = done;
  const { result, pending } = outcome;
  return (
    <>
      <p className="row">
        {pending !== undefined ? (
          <Badge kind="accent">Waiting for approval</Badge>
        ) : result.success ? (
          <Badge kind="good">
            <CircleCheck size={14} aria-hidden /> OK
          </Badge>
        ) : (
          <Badge kind="bad">
            <Ban size={14} aria-hidden /> {result.error?.code ?? 'Failed'}
          </Badge>
        )}
        <span className="muted">
          {duration(Math.round(outcome.tookMs * 1_000))} measured in the browser, for {done.user}
        </span>
      </p>
      {pending !== undefined && (
        <Notice>
          <p>
            The user is asked before this call runs.{' '}
            <Link to="/approvals/$id" params={{ id: pending }}>
              Open the approval
            </Link>
          </p>
        </Notice>
      )}
      {result.error !== undefined && result.error !== null && (
        <Notice kind="bad">
          <p>{result.error.message}</p>
          <Advice help={helpFor(result.error.code, app, done.tool, done.arguments)} />
          {result.error.code === 'TOOL_NOT_FOUND' && <InstallFor app={app} user={user} isOther={isOther} onInstalled={onAgain} />}
        </Notice>
      )}
      {result.success && <Content content={result.content} />}
      {result.mentraExtensions?.suppressVoiceResponse === true && (
        <p className="muted">The app shows or speaks the answer itself; an assistant stays silent.</p>
      )}
      {(result.mentraExtensions?.suggestedFollowUps?.length ?? 0) > 0 && (
        <p className="muted">It suggests: {result.mentraExtensions?.suggestedFollowUps?.slice(0, 10).join(', ')}</p>
      )}
      <Wake app={app} outcome={outcome} record={record} />
      {record !== undefined && record !== null && (
        <>
          <Steps steps={record.steps} totalUs={record.durationUs} />
          <p>
            <Link to="/activity/$id" params={{ id: record.id }}>
              Show in Activity
            </Link>
          </p>
        </>
      )}
      {record === undefined && outcome.callId !== null && <p className="muted">Loading the times …</p>}
      {record === null && outcome.callId !== null && <p className="muted">This call is not in the ledger yet.</p>}
    </>
  );
}

function Advice({ help }: { help: Help | undefined }) {
  if (help === undefined) return null;
  return (
    <div className="advice">
      <p>
        <strong>{help.title}</strong>
      </p>
      <ol>
        {help.steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      {help.curl !== undefined && <Code label="request to try" value={help.curl} />}
    </div>
  );
}

function Content({ content }: { content: unknown }) {
  const text = typeof content === 'string' ? content : (JSON.stringify(content, null, 2) ?? 'nothing');
  return (
    <>
      <Code label="result" value={text.slice(0, MOST_SHOWN)} />
      {text.length > MOST_SHOWN && <p className="muted">Truncated: {text.length} characters.</p>}
    </>
  );
}

function Wake({ app, outcome, record }: { app: App; outcome: Outcome; record: CallSummary | null | undefined }) {
  const took = record === undefined || record === null || record.steps.ready === 0 ? '' : ` in ${duration(record.steps.ready)}`;
  if (app.kind === 'tools-only') return <p className="wake">The app was called directly: it is a tools-only app.</p>;
  if (outcome.ranBefore === true) return <p className="wake">The app was already running.</p>;
  if (!outcome.result.success && record?.steps.invoke === 0) return <p className="wake">The call did not reach the app.</p>;
  return outcome.ranBefore === false ? <p className="wake">The app was asleep and was woken{took}.</p> : null;
}

function InstallFor({ app, user, isOther, onInstalled }: { app: App; user: string; isOther: boolean; onInstalled: () => void }) {
  const install = useMutation({
    mutationFn: () =>
      responseData(api.PUT('/api/installs/{package}', { params: { path: { package: app.packageName } }, headers: asUser(user, isOther) })),
    onSuccess: async () => {
      await appsChanged();
      onInstalled();
    },
    onError: toastError,
  });
  return (
    <>
      <p>
        The tool is not among those that {user} can call. The app may not be installed for them, they may have turned the tool off, or their
        glasses may lack required hardware.
      </p>
      <Button small disabled={install.isPending} onClick={() => install.mutate()}>
        Install {app.name || app.packageName} for {user} and run it again
      </Button>
    </>
  );
}
