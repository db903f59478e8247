/** Requests to the server, typed by its OpenAPI document, with the user's credential. */
import createClient from 'openapi-fetch';
import { parseErrorResponse, signedOutError } from './error';
import type { paths } from './schema';
import { credentials, hasLapsed, lapse, onLapse, session, sessionNumber, type Session } from './session';

/** `api.GET('/api/tools')`: paths, parameters and responses have the server's types. Throws `ApiError` on an error response. */
export const api = createClient<paths>({ baseUrl: window.location.origin, fetch: ask });

/** The data of a response. Errors were thrown before. */
export async function responseData<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}

/** For responses that are not JSON: files, event streams. */
export function fetchRaw(path: string, init: RequestInit = {}): Promise<Response> {
  return ask(new Request(new URL(path, window.location.origin), init));
}

async function ask(request: Request): Promise<Response> {
  const response = await sendRequest(request);
  if (!response.ok) throw await parseErrorResponse(response);
  return response;
}

/**
 * Sends a request and returns the response. A request that is rejected because the session lapsed had no effect: it waits for the
 * next sign-in and is sent again. If the user signs out, or another user signs in, it is never sent.
 */
export async function sendRequest(request: Request): Promise<Response> {
  const begun = sessionNumber();
  for (;;) {
    await waitForValidSession(request.signal);
    if (sessionNumber() !== begun) throw signedOutError();
    const who = session();
    const response = await fetch(withCredential(request, who));
    if (sessionNumber() !== begun) throw signedOutError();
    if (response.status !== 401 || !canLapse(who) || !(await isOver(request, response, who))) return response;
    lapse(who);
    if (sessionNumber() !== begun) return response;
  }
}

type LapsingSession = Session & { kind: 'token' | 'cookie' };
const canLapse = (who: Session | null): who is LapsingSession => who !== null && who.kind !== 'dev';

function withCredential(request: Request, who: Session | null): Request {
  const copy = request.clone();
  for (const [name, value] of Object.entries(credentials(who))) {
    if (!copy.headers.has(name)) copy.headers.set(name, value);
  }
  return copy;
}

/** Waits while the session is lapsed. */
function waitForValidSession(signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (!hasLapsed()) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const leave = () => {
      stop();
      reject(signal.reason as Error);
    };
    const stop = onLapse((now) => {
      stop();
      signal.removeEventListener('abort', leave);
      if (now === 'renewed') resolve();
      else reject(signedOutError());
    });
    signal.addEventListener('abort', leave, { once: true });
  });
}

/** Not every 401 is about the credential: a developer without a user of the same name gets one from routes for users. */
async function isOver(request: Request, response: Response, who: LapsingSession): Promise<boolean> {
  if ((await parseErrorResponse(response.clone())).noSession) return false;
  // Another request found out while this one was in progress.
  if (hasLapsed() || session() !== who) return true;
  return new URL(request.url).pathname === ME || !(await isValid(who));
}

const ME = '/api/me';
let looking: { who: Session; found: Promise<boolean> } | undefined;

/** Asks the server once, however many requests were rejected. If the server cannot be reached, the session counts as valid. */
function isValid(who: LapsingSession): Promise<boolean> {
  if (looking?.who === who) return looking.found;
  const found = fetch(ME, { headers: credentials(who) }).then(
    ({ status }) => status !== 401,
    () => true,
  );
  looking = { who, found };
  void found.then(() => (looking = undefined));
  return found;
}
