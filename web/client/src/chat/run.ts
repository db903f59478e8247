/** Runs the calls of a response concurrently, each with a timeout. */

import type { UIMessageChunk } from 'ai';

import { byteLength, errorMessage } from '../json.js';
import { withTimeout } from '../plugin/with-timeout.js';
import type { Trace } from '../plugin/log.js';
import type { Toolset } from '../plugin/toolset.js';
import type { ToolCall } from '../tool/call.js';
import type { ToolContext } from '../tool/context.js';
import { Outbox } from './outbox.js';

/** Maximum number of concurrent calls. Others wait. */
export const MAX_AT_ONCE = 16;
/** Largest result, in bytes of JSON. A larger one is an error. */
export const MAX_RESULT_BYTES = 1024 * 1024;

/** A call that is about to run. */
export interface CallRun {
  readonly call: ToolCall;
  /** The context that the tool would get. */
  readonly context: ToolContext;
  /** Whether this client has a tool with that name. */
  readonly isKnown: boolean;
  /** Runs it as usual: with the hook of its plugin, or its executor. */
  run(): Promise<unknown>;
}

/** Called for each call of this client, instead of hooks and executors. */
export type OnToolCall = (run: CallRun) => unknown;

/** How calls run. */
export interface Runner {
  readonly tools: Toolset;
  readonly over: OnToolCall | undefined;
  /** Timeout of each call in milliseconds. */
  readonly limit: number;
  readonly trace: Trace;
}

/** Runs all calls and streams progress and results. Ends early when `signal` is aborted. */
export async function* runCalls(calls: readonly ToolCall[], how: Runner, signal: AbortSignal): AsyncGenerator<UIMessageChunk> {
  const outbox = new Outbox();
  const waiting = [...calls];
  let running = 0;
  while (!signal.aborted) {
    const begin = waiting.splice(0, MAX_AT_ONCE - running);
    running += begin.length;
    for (const call of begin) void runCall(call, how, outbox, signal).then((output) => outbox.result(call.id, output));
    if (running === 0) return;
    await outbox.filled(signal);
    for (const chunk of outbox.take()) {
      if (signal.aborted) return;
      if (chunk.type === 'tool-output-available') running -= 1;
      yield chunk;
    }
  }
}

/** Runs one call. Never throws: an error becomes the result. */
async function runCall(call: ToolCall, how: Runner, outbox: Outbox, signal: AbortSignal): Promise<unknown> {
  const begun = performance.now();
  const cancel = new AbortController();
  const context: ToolContext = {
    callId: call.id,
    tool: call.tool,
    signal: cancel.signal,
    // Progress after the end is ignored.
    progress: (...report) => cancel.signal.aborted || outbox.progress(call.id, ...report),
  };
  const run = () => how.tools.run(call, context);
  const { over } = how;
  const asked = over ? () => over({ call, context, isKnown: how.tools.has(call.tool), run }) : run;
  let ok = false;
  try {
    const output = asJson(await withTimeout(how.limit, asked, signal, `the tool \`${call.tool}\``));
    ok = true;
    return output;
  } catch (error) {
    return { error: errorMessage(error) };
  } finally {
    // Tell the tool that its result is no longer needed, however it ended.
    cancel.abort();
    how.trace.call(call, ok, begun);
  }
}

/** Converts the output to JSON, as it is sent to the server, so that nothing else of it is visible or changes later. */
function asJson(output: unknown): unknown {
  const text = jsonOf(output);
  const bytes = byteLength(text);
  if (bytes > MAX_RESULT_BYTES) {
    throw new RangeError(`the result has ${bytes} bytes; at most ${MAX_RESULT_BYTES} can be taken. Ask for less`);
  }
  return JSON.parse(text);
}

function jsonOf(output: unknown): string {
  try {
    // A function that returns nothing has succeeded.
    return JSON.stringify(output) ?? 'null';
  } catch (error) {
    throw new TypeError(`the result cannot be written as JSON: ${errorMessage(error)}`);
  }
}
