/** What the server says when it says no. */
export interface Problem {
  path?: string;
  message: string;
}

/** Carries the code of an error whose body has none. */
const ERROR_HEADER = 'x-toolyard-error';
const NO_SESSION = 'no-session';

export class Refused extends Error {
  override name = 'Refused';

  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly problems: readonly Problem[] = [],
    /** How long the server asks to wait, in milliseconds. */
    readonly retryAfterMs?: number,
  ) {
    super(message);
  }

  /** The user is known and has no device or session; not a matter of tokens. */
  get noSession(): boolean {
    return this.code === NO_SESSION;
  }
}

const SIGNED_OUT = 'SIGNED_OUT';

/** For what somebody wanted who is not here any more: it was not done, and nobody has to hear of it. */
export const signedOut = () => new Refused('Nobody is signed in any more.', 0, SIGNED_OUT);
export const isSignedOut = (error: unknown) => error instanceof Refused && error.code === SIGNED_OUT;

/** Reads the three forms: `{error: {code, message, problems}}`, that of calls, and the old `{error: "…"}`. */
export async function refusedBy(response: Response): Promise<Refused> {
  const text = await response.text().catch(() => '');
  const wait = waitOf(response.headers.get('Retry-After'));
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    if (typeof error === 'string') return new Refused(error, response.status, response.headers.get(ERROR_HEADER) ?? 'REFUSED', [], wait);
    if (typeof error === 'object' && error !== null) {
      const { code, message, problems } = error as { code?: unknown; message?: unknown; problems?: unknown };
      return new Refused(String(message ?? code), response.status, String(code), Array.isArray(problems) ? problems : [], wait);
    }
  } catch {
    // Not ours: a proxy's page, or nothing.
  }
  return new Refused(`The server answered ${response.status}.`, response.status, 'HTTP_ERROR', [], wait);
}

/** Seconds, or a date. */
function waitOf(header: string | null): number | undefined {
  if (header === null || header.trim() === '') return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** What `fetch` says in the browsers when no answer came, or not all of it. Other TypeErrors are something else. */
const NO_ANSWER =
  /^(Failed to fetch|fetch failed|network error|NetworkError |Load failed|The network connection was lost|Error in (input stream|body stream))/i;

/** For people. */
export function told(error: unknown): string {
  if (error instanceof TypeError && NO_ANSWER.test(error.message)) return 'The server cannot be reached.';
  return error instanceof Error ? error.message : String(error);
}
