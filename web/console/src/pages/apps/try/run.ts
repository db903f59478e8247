/** One call as somebody, with everything that can be seen of it: whether the app had to be woken, progress, result, times. */
import { api, data, plain } from '../../../api/client';
import { Refused } from '../../../api/error';
import { eventsOf } from '../../../api/sse';
import type { components } from '../../../api/schema';
import { credentials, session } from '../../../api/session';

export type CallSummary = components['schemas']['CallSummary'];
type RestResult = components['schemas']['RestResult'];

export interface Progress {
  progress?: number;
  total?: number;
  message?: string;
}

export interface Outcome {
  result: RestResult;
  /** As the browser measured it. */
  tookMs: number;
  callId: string | null;
  /** Whether the app ran before the call; nothing where that is not known. */
  ranBefore?: boolean;
}

const MOST_PROGRESS = 50;

/** The headers of a request for a user; operators name others, everybody else is who they are. The client adds the token. */
export function asUser(user: string, isOther: boolean): Record<string, string> {
  return isOther ? credentials({ kind: 'dev', user }) : {};
}

interface Asked {
  app: string;
  tool: string;
  arguments: unknown;
  headers: Record<string, string>;
  signal: AbortSignal;
  onProgress: (progress: readonly Progress[]) => void;
}

export async function run(asked: Asked): Promise<Outcome> {
  const ranBefore = await isRunning(asked);
  const started = performance.now();
  const end = (result: RestResult, callId: string | null): Outcome => ({
    result,
    callId,
    tookMs: performance.now() - started,
    ...(ranBefore !== undefined && { ranBefore }),
  });
  try {
    const response = await plain('/api/tools/execute', {
      method: 'POST',
      signal: asked.signal,
      headers: { ...asked.headers, 'Content-Type': 'application/json', Accept: 'text/event-stream' },
      body: JSON.stringify({ name: `${asked.app}:${asked.tool}`, arguments: asked.arguments }),
    });
    const steps: Progress[] = [];
    for await (const { event, data: text } of eventsOf(response)) {
      if (event === 'result') return end(JSON.parse(text) as RestResult, response.headers.get('x-toolyard-call-id'));
      if (event === 'progress' && steps.length < MOST_PROGRESS) {
        steps.push(JSON.parse(text) as Progress);
        asked.onProgress([...steps]);
      }
    }
    throw new Error('The connection ended before the result came.');
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return end({ success: false, error: { code: error.code as 'INTERNAL' & never, message: error.message, retryable: false } }, null);
  }
}

async function isRunning({ app, headers, signal }: Asked): Promise<boolean | undefined> {
  try {
    const live = await data(api.GET('/api/session', { headers, signal }));
    return live.apps.some(({ packageName, state }) => packageName === app && state === 'RUNNING');
  } catch {
    // What is wrong the call itself says.
    return undefined;
  }
}

/** The entry of the call in the ledger, which is written a moment after the answer. */
export async function recordOf(id: string, headers: Record<string, string>, signal: AbortSignal): Promise<CallSummary | undefined> {
  for (let tries = 0; tries < 12 && !signal.aborted; tries += 1) {
    try {
      return await data(api.GET('/api/calls/{id}', { params: { path: { id } }, headers, signal }));
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 404) return undefined;
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
  }
  return undefined;
}

/** One word of a shell, whatever is in it. */
export const shellQuoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** The same call for a terminal. A token is not shown: it comes from the environment. */
export function curlOf(name: string, args: unknown, user: string, isOther: boolean): string {
  const who = session();
  const lines = [`curl ${shellQuoted(`${window.location.origin}/api/tools/execute`)}`, `-H 'Content-Type: application/json'`];
  if (who?.kind === 'token') lines.push('-H "Authorization: Bearer $TOOLYARD_TOKEN"');
  if (who?.kind === 'dev' || isOther) lines.push(`-H ${shellQuoted(`X-User-Id: ${user}`)}`);
  lines.push(`-d ${shellQuoted(JSON.stringify({ name, arguments: args }))}`);
  return lines.join(' \\\n  ');
}
