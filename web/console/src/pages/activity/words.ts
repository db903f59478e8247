/** Codes, doors and steps in words. */

/** What an outcome means, as docs/errors.md has it. */
const OUTCOMES: Record<string, string> = {
  OK: 'The tool answered.',
  INVALID_REQUEST: 'The body was not a call.',
  INVALID_TOOL_NAME: 'The name was neither package:tool nor an alias.',
  TOOL_NOT_FOUND: 'The caller has no such tool: not installed, hidden, or turned off.',
  INVALID_ARGUMENTS: 'The arguments do not fit the input schema.',
  CONFLICT: 'An idempotency key came back with another call.',
  DENIED: "The operator's policy said no.",
  RATE_LIMITED: 'Too many calls in a short time. It can be tried again.',
  OVERLOADED: 'Too many calls at once, or the server was stopping. It can be tried again.',
  APP_NOT_AVAILABLE: 'The app could not be reached or started: no public URL, start refused, hardware, or it never connected.',
  TIMEOUT: 'The app did not answer in time.',
  NETWORK_ERROR: 'The app could not be reached; nothing was sent. It can be tried again.',
  HTTP_ERROR: 'The app answered with an error status.',
  INVALID_RESPONSE: 'The answer was not JSON, cut, too large, or against the output schema.',
  TOOL_NOT_HANDLED: 'The app said that it does not know the tool.',
  EXECUTION_ERROR: 'The app or tool failed and said so.',
  HANDLER_ERROR: 'A handler failed inside the app.',
  OUTCOME_UNKNOWN: 'The connection broke, the server stopped under the call, or the result was too large to keep. It is never run again.',
  CANCELLED: 'The caller went away.',
};

export const CODES = Object.keys(OUTCOMES);
export const outcomeWords = (code: string) => OUTCOMES[code] ?? 'A code that this console does not know.';

export const STEPS = ['find', 'validate', 'authorize', 'ready', 'invoke', 'check'] as const;
export type Step = (typeof STEPS)[number];

export const STEP_WORDS: Record<Step, string> = {
  find: 'Find the tool in what the caller can see',
  validate: 'Check the arguments against the schema',
  authorize: 'Ask policy and limits',
  ready: 'Make the app ready (wake it)',
  invoke: 'Call the app and wait for its answer',
  check: 'Check the answer',
};

const DOORS: Record<string, string> = { rest: 'REST', mcp: 'MCP', chat: 'chat', ws: 'WebSocket', websocket: 'WebSocket' };
export const doorWords = (door: string) => DOORS[door] ?? door;

export function callerWords(caller: string): string {
  return caller === 'user' ? 'the user' : caller.startsWith('app:') ? `the app ${caller.slice(4)}` : caller;
}

export function splitTool(tool: string): { app: string | null; name: string } {
  const place = tool.indexOf(':');
  return place < 0 ? { app: null, name: tool } : { app: tool.slice(0, place), name: tool.slice(place + 1) };
}
