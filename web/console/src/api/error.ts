/** What the server says when it says no. */
export interface Problem {
  path?: string;
  message: string;
}

export class Refused extends Error {
  override name = 'Refused';

  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly problems: readonly Problem[] = [],
  ) {
    super(message);
  }

  /** The user is known and has no device or session; not a matter of tokens. */
  get noSession(): boolean {
    return this.status === 401 && this.message.startsWith('No active session');
  }
}

/** Reads the three forms: `{error: {code, message, problems}}`, that of calls, and the old `{error: "…"}`. */
export async function refusedBy(response: Response): Promise<Refused> {
  const text = await response.text().catch(() => '');
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    if (typeof error === 'string') return new Refused(error, response.status, 'REFUSED');
    if (typeof error === 'object' && error !== null) {
      const { code, message, problems } = error as { code?: unknown; message?: unknown; problems?: unknown };
      return new Refused(String(message ?? code), response.status, String(code), Array.isArray(problems) ? problems : []);
    }
  } catch {
    // Not ours: a proxy's page, or nothing.
  }
  return new Refused(`The server answered ${response.status}.`, response.status, 'HTTP_ERROR');
}

/** For people. */
export function told(error: unknown): string {
  if (error instanceof TypeError) return 'The server cannot be reached.';
  return error instanceof Error ? error.message : String(error);
}
