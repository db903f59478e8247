/** Requests to the server, typed by its OpenAPI document, with the user's credential. */
import createClient from 'openapi-fetch';
import { refusedBy, signedOut } from './error';
import type { paths } from './schema';
import { credentials, hasLapsed, lapse, onLapse, session, sessionNumber, type Session } from './session';

/** `api.GET('/api/tools')`: types of paths, parameters and answers are the server's. Throws `Refused` where it says no. */
export const api = createClient<paths>({ baseUrl: window.location.origin, fetch: ask });

/** The data of an answer; a refusal was thrown before. */
export async function data<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}

/** For what is not JSON: files, event streams. */
export function plain(path: string, init: RequestInit = {}): Promise<Response> {
  return ask(new Request(new URL(path, window.location.origin), init));
}

async function ask(request: Request): Promise<Response> {
  const response = await answered(request);
  if (!response.ok) throw await refusedBy(response);
  return response;
}

/**
 * The answer of the server, whatever it says. A request that is refused because the token lapsed was not done: it waits until
 * the user has a new one, and is sent again. Where they sign out, or somebody else signs in, it is never sent.
 */
export async function answered(request: Request): Promise<Response> {
  const begun = sessionNumber();
  for (;;) {
    await believed(request.signal);
    if (sessionNumber() !== begun) throw signedOut();
    const who = session();
    const response = await fetch(withCredential(request, who));
    if (sessionNumber() !== begun) throw signedOut();
    if (response.status !== 401 || who?.kind !== 'token' || !(await isOver(request, response, who))) return response;
    lapse(who.token);
    if (sessionNumber() !== begun) return response;
  }
}

function withCredential(request: Request, who: Session | null): Request {
  const copy = request.clone();
  for (const [name, value] of Object.entries(credentials(who))) {
    if (!copy.headers.has(name)) copy.headers.set(name, value);
  }
  return copy;
}

/** Waits while the token is not believed. */
function believed(signal: AbortSignal): Promise<void> {
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
      else reject(signedOut());
    });
    signal.addEventListener('abort', leave, { once: true });
  });
}

/** Not every 401 is about the token: a developer whose name is no user's gets one from what is for users. */
async function isOver(request: Request, response: Response, who: Session & { kind: 'token' }): Promise<boolean> {
  if ((await refusedBy(response.clone())).noSession) return false;
  // Somebody found out before, while this was on its way.
  if (hasLapsed() || session() !== who) return true;
  return new URL(request.url).pathname === ME || !(await isBelieved(who));
}

const ME = '/api/me';
let looking: { token: string; found: Promise<boolean> } | undefined;

/** Asked once, however many requests were refused. A server that cannot be asked has not said no. */
function isBelieved(who: Session & { kind: 'token' }): Promise<boolean> {
  if (looking?.token === who.token) return looking.found;
  const found = fetch(ME, { headers: credentials(who) }).then(
    ({ status }) => status !== 401,
    () => true,
  );
  looking = { token: who.token, found };
  void found.then(() => (looking = undefined));
  return found;
}
