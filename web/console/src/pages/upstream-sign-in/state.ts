/** What the page shows, and how it learns that the user has signed in. */
import { ApiError, isSignedOut } from '../../api/error';
import type { UpstreamAccess } from '../../api/upstream-access';
import { isPermanent, pause, retryDelay } from '../../api/watch';

/** `unknown`: the user has no such upstream. `not-oauth`: users do not sign in there. */
export type PageState = 'loading' | 'needed' | 'done' | 'unknown' | 'not-oauth' | 'failed';

/** Once the upstream is shown, an error does not replace it, unless the upstream itself is gone or has changed. */
export function pageState(access: UpstreamAccess | undefined, error: unknown): PageState {
  const status = error instanceof ApiError ? error.status : undefined;
  if (status === 404) return 'unknown';
  if (status === 400) return 'not-oauth';
  if (access !== undefined) return access.authorized ? 'done' : 'needed';
  return error == null ? 'loading' : 'failed';
}

/** The authorization page of an upstream. Other schemes could run something in the name of this page, or open a program. */
export function isWebUrl(url: string): boolean {
  return URL.canParse(url) && ['http:', 'https:'].includes(new URL(url).protocol);
}

/** At least this long between two requests, even if the server does not hold them back. */
const SHORTEST_POLL_MS = 2_000;

interface Poll {
  ask: (signal: AbortSignal) => Promise<UpstreamAccess>;
  onAnswer: (access: UpstreamAccess) => void;
  /** The server rejects the request permanently. */
  onRejected: () => void;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Asks until the user has access, the server rejects the request, or the signal is aborted. */
export async function pollAccess({ ask, onAnswer, onRejected, sleep = pause }: Poll, signal: AbortSignal): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    const began = performance.now();
    let delay: number;
    try {
      const access = await ask(signal);
      if (signal.aborted) return;
      onAnswer(access);
      if (access.authorized) return;
      failures = 0;
      delay = SHORTEST_POLL_MS - (performance.now() - began);
    } catch (error) {
      if (signal.aborted || isSignedOut(error)) return;
      if (isPermanent(error)) return onRejected();
      delay = retryDelay(failures, error);
      failures += 1;
    }
    if (delay > 0 && !signal.aborted) await sleep(delay, signal);
  }
}
