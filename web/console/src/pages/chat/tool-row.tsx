/** One call: its app, arguments, result, duration and progress, and the sign-in that it waits for. */
import { getToolName, type DynamicToolUIPart, type ToolUIPart } from 'ai';
import type { ProgressData, ToolData } from '@toolyard/client';
import { ChevronRight, CircleAlert, CircleCheck, CircleSlash } from 'lucide-react';
import { ownerOf } from '../../plugins/manager';
import { AppIcon } from '../../ui/app-icon';
import { Chart } from '../../ui/chart';
import { Code } from '../../ui/code';
import { Notice } from '../../ui/feedback';
import { duration } from '../../ui/time';
import { chartOf, type ChartData } from './chart-data';
import { isInterfaceTool } from './handlers';
import type { SignInRequest } from './sign-in-data';

const MAX_SHOWN_CHARS = 20_000;

interface Props {
  part: ToolUIPart | DynamicToolUIPart;
  /** The app it belongs to, if the server sent it. */
  about: ToolData | undefined;
  progress: ProgressData | undefined;
  /** It waits until the user has signed in. */
  signIn: SignInRequest | undefined;
  ms: number | undefined;
  /** Whether the answer that it belongs to is in progress. */
  live: boolean;
}

export function ToolRow({ part, about, progress, signIn, ms, live }: Props) {
  const tool = getToolName(part);
  const app = about?.app ?? (isInterfaceTool(tool) ? 'Console' : (ownerOf(tool) ?? (part.providerExecuted ? 'Server' : 'Plugin')));
  const title = about?.title ?? about?.name?.split(':')[1] ?? tool;
  const { done, failed, result } = outcomeOf(part);
  const waiting = !done && live;
  const chart = tool === 'show_chart' && part.state === 'output-available' ? drawable(part.input) : null;
  const isAsked = part.state === 'approval-requested';
  const running = signIn === undefined ? 'running' : 'waiting for sign-in';
  const state = failed ? 'failed' : done ? 'done' : isAsked ? 'waiting for approval' : waiting ? running : 'not finished';
  return (
    <div className="tool-row">
      <details>
        <summary>
          <ChevronRight size={16} aria-hidden className="turn" />
          <AppIcon name={app} packageName={about?.name?.split(':')[0]} icon={about?.icon} small />
          <span className="tool-name">
            <strong>{app}</strong> {title}
          </span>
          <span className="tool-state">
            {ms !== undefined && <span className="muted">{duration(Math.max(1, Math.round(ms)) * 1_000)}</span>}
            {waiting ? (
              <span className="spinner" aria-hidden />
            ) : failed ? (
              <CircleAlert size={16} aria-hidden className="bad" />
            ) : done ? (
              <CircleCheck size={16} aria-hidden className="good" />
            ) : (
              <CircleSlash size={16} aria-hidden />
            )}
            <span className="hidden">{state}</span>
          </span>
        </summary>
        <div className="tool-details">
          <h4>Arguments</h4>
          <Code label="Arguments" value={shown(part.input ?? {})} />
          {done && (
            <>
              <h4>{failed ? 'Error' : 'Result'}</h4>
              <Code label={failed ? 'Error' : 'Result'} value={shown(result)} />
            </>
          )}
        </div>
      </details>
      {waiting && progress !== undefined && <Progress {...progress} />}
      {waiting && signIn !== undefined && <SignInNotice {...signIn} />}
      {chart !== null && (
        <Chart title={chart.title} kind={chart.kind} labels={chart.labels} series={[{ name: 'Value', values: chart.values }]} />
      )}
    </div>
  );
}

function Progress({ progress, total, message }: ProgressData) {
  return (
    <p className="tool-progress">
      <progress
        aria-label="Progress of the call"
        {...(total !== undefined && total > 0 && { value: Math.min(progress, total), max: total })}
      />
      <span className="muted">{message ?? (total === undefined ? String(progress) : `${progress} of ${total}`)}</span>
    </p>
  );
}

/** The call continues by itself after the sign-in. */
function SignInNotice({ name, url }: SignInRequest) {
  return (
    <Notice>
      <p>{name} needs you to sign in.</p>
      {url !== undefined && (
        <a className="button primary small" href={url} target="_blank" rel="noopener">
          Sign in to {name}
        </a>
      )}
    </Notice>
  );
}

/** Tools of this page report failures as `{ error }`. */
function outcomeOf(part: ToolUIPart | DynamicToolUIPart): { done: boolean; failed: boolean; result: unknown } {
  if (part.state === 'output-error') return { done: true, failed: true, result: part.errorText };
  if (part.state === 'output-denied') return { done: true, failed: true, result: 'You denied this call. It did not run.' };
  if (part.state !== 'output-available') return { done: false, failed: false, result: undefined };
  const { output } = part;
  const error =
    !part.providerExecuted && typeof output === 'object' && output !== null && Object.keys(output).length === 1
      ? (output as { error?: unknown }).error
      : undefined;
  return { done: true, failed: error !== undefined, result: error ?? output };
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}\n… ${text.length - MAX_SHOWN_CHARS} more characters` : text;
}

function drawable(input: unknown): ChartData | null {
  try {
    return chartOf(input);
  } catch {
    return null;
  }
}
