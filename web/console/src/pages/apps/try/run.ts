/** Runs one call for a user and collects what can be observed: whether the app had to be woken, progress, result, times. */
import { api, responseData, fetchRaw } from '../../../api/client';
import { ApiError } from '../../../api/error';
import { eventsOf } from '../../../api/sse';
import type { components } from '../../../api/schema';
import { asUser as userHeader, session } from '../../../api/session';

export type CallSummary = components['schemas']['CallSummary'];
type RestResult = components['schemas']['RestResult'];

export interface Progress {
  progress?: number;
  total?: number;
  message?: string;
}

export interface Outcome {
  result: RestResult;
  /** The approval that the call waits for. */
  pending?: string;
  /** As measured in the browser. */
  tookMs: number;
  callId: string | null;
  /** Whether the app was running before the call; undefined if unknown. */
  ranBefore?: boolean;
}

const MOST_PROGRESS = 50;

/** The headers of a request for a user: operators can name another user. The client adds the token. */
export function asUser(user: string, isOther: boolean): Record<string, string> {
  return isOther ? userHeader(user) : {};
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
    ...pendingIn(result),
    callId,
    tookMs: performance.now() - started,
    ...(ranBefore !== undefined && { ranBefore }),
  });
  try {
    const response = await fetchRaw('/api/tools/execute', {
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
    throw new Error('The connection ended before the result arrived.');
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return end({ success: false, error: { code: error.code as 'INTERNAL' & never, message: error.message, retryable: false } }, null);
  }
}

function pendingIn(result: RestResult): { pending?: string } {
  return result.pending == null ? {} : { pending: result.pending.id };
}

async function isRunning({ app, headers, signal }: Asked): Promise<boolean | undefined> {
  try {
    const live = await responseData(api.GET('/api/session', { headers, signal }));
    return live.apps.some(({ packageName, state }) => packageName === app && state === 'RUNNING');
  } catch {
    // The call itself reports the error.
    return undefined;
  }
}

/** The ledger entry of the call, which is written a moment after the response. */
export async function recordOf(id: string, headers: Record<string, string>, signal: AbortSignal): Promise<CallSummary | undefined> {
  for (let tries = 0; tries < 12 && !signal.aborted; tries += 1) {
    try {
      return await responseData(api.GET('/api/calls/{id}', { params: { path: { id } }, headers, signal }));
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) return undefined;
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
  }
  return undefined;
}

/** Quotes a shell argument. */
export const shellQuoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** The same call for a terminal. A token is not shown: it comes from the environment. */
export function curlOf(name: string, args: unknown, user: string, isOther: boolean): string {
  const who = session();
  const lines = [`curl ${shellQuoted(`${window.location.origin}/api/tools/execute`)}`, `-H 'Content-Type: application/json'`];
  if (who?.kind !== 'dev') lines.push('-H "Authorization: Bearer $TOOLYARD_TOKEN"');
  if (who?.kind === 'dev' || isOther) lines.push(`-H ${shellQuoted(`X-User-Id: ${user}`)}`);
  lines.push(`-d ${shellQuoted(JSON.stringify({ name, arguments: args }))}`);
  return lines.join(' \\\n  ');
}
