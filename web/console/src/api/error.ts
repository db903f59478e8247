/** Error responses of the server. */
export interface Problem {
  path?: string;
  message: string;
}

/** Carries the code of an error whose body has none. */
const ERROR_HEADER = 'x-toolyard-error';
const NO_SESSION = 'no-session';

export class ApiError extends Error {
  override name = 'ApiError';

  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly problems: readonly Problem[] = [],
    /** How long to wait, in milliseconds, as the server requests. */
    readonly retryAfterMs?: number,
  ) {
    super(message);
  }

  /** The user is known but has no device or session. Not a problem of the token. */
  get noSession(): boolean {
    return this.code === NO_SESSION;
  }
}

const SIGNED_OUT = 'SIGNED_OUT';

/** For a request of a user who has signed out: it was not sent, and needs no error message. */
export const signedOutError = () => new ApiError('You are signed out.', 0, SIGNED_OUT);
export const isSignedOut = (error: unknown) => error instanceof ApiError && error.code === SIGNED_OUT;

/** Parses the three formats: `{error: {code, message, problems}}`, that of calls, and the old `{error: "…"}`. */
export async function parseErrorResponse(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  const wait = waitOf(response.headers.get('Retry-After'));
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    if (typeof error === 'string') return new ApiError(error, response.status, response.headers.get(ERROR_HEADER) ?? 'REFUSED', [], wait);
    if (typeof error === 'object' && error !== null) {
      const { code, message, problems } = error as { code?: unknown; message?: unknown; problems?: unknown };
      return new ApiError(String(message ?? code), response.status, String(code), Array.isArray(problems) ? problems : [], wait);
    }
  } catch {
    // Not ours: a proxy's page, or nothing.
  }
  return new ApiError(`The server responded with status ${response.status}.`, response.status, 'HTTP_ERROR', [], wait);
}

/** Seconds, or a date. */
function waitOf(header: string | null): number | undefined {
  if (header === null || header.trim() === '') return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** The messages of `fetch` in the browsers if there was no response, or only part of it. Other TypeErrors mean something else. */
const NO_ANSWER =
  /^(Failed to fetch|fetch failed|network error|NetworkError |Load failed|The network connection was lost|Error in (input stream|body stream))/i;

/** An error message for the user. */
export function errorText(error: unknown): string {
  if (error instanceof TypeError && NO_ANSWER.test(error.message)) return 'The server cannot be reached.';
  return error instanceof Error ? error.message : String(error);
}
