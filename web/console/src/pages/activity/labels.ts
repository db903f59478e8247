/** Labels of codes, doors and steps. */

/** The meaning of outcomes, as in docs/errors.md. */
const OUTCOMES: Record<string, string> = {
  OK: 'The tool returned a result.',
  AWAITING_APPROVAL: 'The user was asked first. After a yes, the call runs and is listed as another call.',
  AWAITING_SIGN_IN: 'The user has to sign in at the upstream first. After that, the call is made again and is listed as another call.',
  INVALID_REQUEST: 'The request body was not a valid call.',
  INVALID_TOOL_NAME: 'The name was neither package:tool nor an alias.',
  TOOL_NOT_FOUND: 'The caller has no such tool: not installed, hidden, or turned off.',
  INVALID_ARGUMENTS: 'The arguments do not match the input schema.',
  CONFLICT: 'The idempotency key was already used for another call.',
  DENIED: "The user or the operator's policy denied the call.",
  RATE_LIMITED: 'Too many calls in a short time. It can be retried.',
  OVERLOADED: 'Too many calls at once, or the server was stopping. It can be retried.',
  APP_NOT_AVAILABLE: 'The app could not be reached or started: no public URL, start refused, missing hardware, or it did not connect.',
  TIMEOUT: 'The app did not respond in time.',
  NETWORK_ERROR: 'The app could not be reached; nothing was sent. It can be retried.',
  HTTP_ERROR: 'The app responded with an error status.',
  INVALID_RESPONSE: 'The response was not JSON, truncated, too large, or did not match the output schema.',
  TOOL_NOT_HANDLED: 'The app does not know the tool.',
  EXECUTION_ERROR: 'The app or tool reported an error.',
  HANDLER_ERROR: 'A handler failed inside the app.',
  OUTCOME_UNKNOWN:
    'The connection was lost, the server stopped during the call, or the result was too large to keep. The call is never run again.',
  CANCELLED: 'The caller cancelled the call or disconnected.',
};

export const CODES = Object.keys(OUTCOMES);
/** A call that waits has not failed. */
export const outcomeKind = (code: string) => (code === 'OK' ? 'good' : code.startsWith('AWAITING_') ? 'accent' : 'bad');
export const describeOutcome = (code: string) => OUTCOMES[code] ?? 'Unknown code.';

export const STEPS = ['find', 'validate', 'authorize', 'ready', 'invoke', 'check'] as const;
export type Step = (typeof STEPS)[number];

export const STEP_LABELS: Record<Step, string> = {
  find: 'Find the tool',
  validate: 'Validate the arguments',
  authorize: 'Check policy and limits',
  ready: 'Wake the app if needed',
  invoke: 'Run the tool',
  check: 'Check the result',
};

const DOORS: Record<string, string> = { rest: 'REST', mcp: 'MCP', chat: 'chat', ws: 'WebSocket', websocket: 'WebSocket' };
export const interfaceLabel = (door: string) => DOORS[door] ?? door;

export function callerLabel(caller: string): string {
  return caller === 'user' ? 'the user' : caller.startsWith('app:') ? `the app ${caller.slice(4)}` : caller;
}

export function splitTool(tool: string): { app: string | null; name: string } {
  const place = tool.indexOf(':');
  return place < 0 ? { app: null, name: tool } : { app: tool.slice(0, place), name: tool.slice(place + 1) };
}
