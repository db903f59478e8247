/**
 * Runs the code of a plugin in a frame without an origin, see `public/sandbox/frame.js`. Each call gets its own frame, which is removed
 * afterwards with everything that still runs in it. The frame gets only the code, its arguments and its permissions.
 */
import { withQuery } from '../api/console';
import { randomId } from '../api/random-id';
import { isAddress } from '../plugins/trust/permissions';
import { ConcurrencyLimit } from './concurrency-limit';

interface SandboxPermissions {
  network: readonly string[];
  storage: boolean;
  clock: boolean;
}

/** The storage of a plugin. Throws an error with a message if it fails. Values are JSON. */
export interface SandboxStorage {
  get(key: string): string | null;
  set(key: string, json: string): void;
  delete(key: string): boolean;
  keys(): string[];
}

export interface Job {
  code: string;
  args: unknown;
  permissions: SandboxPermissions;
  storage?: SandboxStorage;
  /** Default: 10 seconds; at most 30. */
  timeMs?: number;
  signal?: AbortSignal;
}

export interface LogLine {
  level: string;
  text: string;
}

export interface Outcome {
  value: unknown;
  logs: LogLine[];
}

export class SandboxError extends Error {
  override name = 'SandboxError';

  constructor(
    message: string,
    readonly logs: LogLine[] = [],
  ) {
    super(message);
  }
}

const DEFAULT_TIME_MS = 10_000;
const MAX_TIME_MS = 30_000;
/** Maximum number of hosts in the policy of one frame. */
export const MAX_FRAME_HOSTS = 16;
/** Longest code and arguments, as the crate `sandbox` limits arguments. */
const MAX_ARGUMENT_CHARS = 256 * 1024;
const MAX_DEPTH = 100;
/** Time for the frame to load. */
const START_MS = 10_000;
/** Extra time for the frame to report its own timeout, before it is removed. */
const GRACE_MS = 1_000;
const seats = new ConcurrencyLimit(4);

export async function runSandboxed(job: Job): Promise<Outcome> {
  const args = JSON.stringify(job.args) ?? 'null';
  if (args.length > MAX_ARGUMENT_CHARS) throw new SandboxError(`The arguments have more than ${MAX_ARGUMENT_CHARS} characters.`);
  if (job.permissions.network.length > MAX_FRAME_HOSTS)
    throw new SandboxError(`In a browser a plugin can reach at most ${MAX_FRAME_HOSTS} hosts.`);
  // The server provides no frame for them: with an IP address, a page could reach the user's own network.
  if (job.permissions.network.some(isAddress))
    throw new SandboxError('In a browser, a plugin can reach hosts by name only, not by IP address.');
  const leave = await seats.take(job.signal);
  try {
    return await inFrame(job, args);
  } finally {
    leave();
  }
}

function inFrame(job: Job, args: string): Promise<Outcome> {
  const { code, permissions, signal } = job;
  const timeMs = Math.min(job.timeMs ?? DEFAULT_TIME_MS, MAX_TIME_MS);
  const frame = document.createElement('iframe');
  frame.setAttribute('sandbox', 'allow-scripts');
  frame.title = 'Sandbox of a plugin';
  frame.hidden = true;
  frame.src = withQuery('/sandbox/frame', { connect: permissions.network.join(',') });
  const id = randomId();
  return new Promise<Outcome>((resolve, reject) => {
    let watch = setTimeout(() => end(() => reject(new SandboxError('The sandbox did not start. Was the console built?'))), START_MS);
    const end = (settle: () => void) => {
      clearTimeout(watch);
      window.removeEventListener('message', hear);
      signal?.removeEventListener('abort', abort);
      frame.remove();
      settle();
    };
    const abort = () => end(() => reject(new SandboxError('It was stopped.')));
    const send = (message: object) => frame.contentWindow?.postMessage(message, '*');
    let begun = false;
    const hear = ({ source, data }: MessageEvent<unknown>) => {
      if (source === null || source !== frame.contentWindow || !isMessage(data)) return;
      if (data.kind === 'ready' && !begun) {
        begun = true;
        clearTimeout(watch);
        watch = setTimeout(
          () => end(() => reject(new SandboxError(`It took longer than ${timeMs / 1_000} s and was stopped.`))),
          timeMs + GRACE_MS,
        );
        send({ kind: 'run', id, code, args, permissions, timeMs });
      }
      if (data.id !== id) return;
      if (data.kind === 'storage') send({ kind: 'stored', id, call: data.call, ...answer(job.storage, data) });
      if (data.kind === 'failed') end(() => reject(new SandboxError(String(data.text), logsOf(data.logs))));
      if (data.kind === 'done') end(() => settle(data, resolve, reject));
    };
    if (signal?.aborted) return abort();
    signal?.addEventListener('abort', abort);
    window.addEventListener('message', hear);
    document.body.append(frame);
  });
}

type Message = Record<string, unknown> & { kind: unknown };

function isMessage(data: unknown): data is Message {
  return typeof data === 'object' && data !== null && (data as { toolyard?: unknown }).toolyard === 'sandbox';
}

function settle({ json, logs }: Message, resolve: (outcome: Outcome) => void, reject: (error: SandboxError) => void): void {
  try {
    const value: unknown = JSON.parse(String(json));
    if (depth(value, MAX_DEPTH)) resolve({ value, logs: logsOf(logs) });
    else reject(new SandboxError(`The result is nested deeper than ${MAX_DEPTH}.`, logsOf(logs)));
  } catch {
    reject(new SandboxError('The result is not JSON.', logsOf(logs)));
  }
}

/** Whether a value is nested no deeper than that. */
function depth(value: unknown, left: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return left > 0 && Object.values(value).every((part) => depth(part, left - 1));
}

function answer(storage: SandboxStorage | undefined, { op, key, value }: Message): { json: string } | { error: string } {
  if (storage === undefined) return { error: 'storage needs the permission `storage`' };
  const name = String(key);
  try {
    if (op === 'get') return { json: storage.get(name) ?? 'null' };
    if (op === 'keys') return { json: JSON.stringify(storage.keys()) };
    if (op === 'delete') return { json: String(storage.delete(name)) };
    if (op !== 'set') return { error: 'no such call' };
    storage.set(name, String(value));
    return { json: 'null' };
  } catch (error) {
    return { error: error instanceof Error ? error.message : 'the storage failed' };
  }
}

function logsOf(logs: unknown): LogLine[] {
  if (!Array.isArray(logs)) return [];
  return logs.slice(0, 100).map((line: unknown) => {
    const { level, text } = (line ?? {}) as Partial<LogLine>;
    return { level: String(level).slice(0, 10), text: String(text).slice(0, 2_000) };
  });
}
