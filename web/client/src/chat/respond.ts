/** Processes one response: stream it, run the calls of this client, stream their results. */

import type { FinishReason, UIMessage, UIMessageChunk } from 'ai';

import { cloneJson } from '../json.js';
import type { PluginManager } from '../plugin/manager.js';
import { readCall, type ToolCall } from '../tool/call.js';
import { toChatAnswer, ResponseRecorder, type ChatAnswer } from './answer.js';
import { TruncatedError } from './error.js';
import { NOTICE_HOOK, NOTICE_TOOL_ROUNDS } from './message.js';
import { replayParts } from './resume.js';
import { runCalls, type Runner } from './run.js';

/** How long the connection may stay open after the end, in milliseconds. */
const LINGER = 1000;

/** Context of a response. */
export interface Round {
  /** Its number, from 1. */
  readonly number: number;
  /** Maximum number of rounds; 0 means no limit. */
  readonly most: number;
  /** The messages that were sent. */
  readonly sent: readonly UIMessage[];
  /** Whether it is resumed after a lost connection. */
  readonly isAgain: boolean;
  readonly runner: Runner;
  readonly plugins: PluginManager;
}

/** Streams a response, with the results of this client's tools before its end. Aborting `signal` cancels everything. */
export async function* respond(
  response: ReadableStream<UIMessageChunk>,
  round: Round,
  signal: AbortSignal,
): AsyncGenerator<UIMessageChunk> {
  const recorder = new ResponseRecorder();
  const open = new Map<string, ToolCall>();
  let finish: FinishReason | undefined;
  let isOver = false;
  for await (const chunk of chunksOf(response, signal)) {
    recorder.add(chunk);
    note(chunk, open);
    if (chunk.type === 'error' || chunk.type === 'abort') isOver = true;
    if (chunk.type === 'finish') finish = chunk.finishReason ?? 'other';
    else yield chunk;
    if (chunk.type === 'start' && round.isAgain) yield* replayParts(continued(round.sent, chunk.messageId));
  }
  if (signal.aborted || isOver) return;
  if (finish === undefined) throw new TruncatedError();
  const calls = finish === 'tool-calls' ? [...open.values()] : [];
  // Checked before tools run: a result that is not sent back must not have side effects.
  const tooMany = calls.length > 0 && round.most !== 0 && round.number >= round.most;
  if (tooMany) {
    const notice = tooManyRounds(round.most);
    recorder.add(notice);
    yield notice;
  }
  if (calls.length > 0 && !tooMany) yield* runCalls(calls, round.runner, signal);
  else yield* notifyPlugins(recorder, tooMany ? 'tool-rounds' : finish, round, signal);
  if (!signal.aborted) yield { type: 'finish', finishReason: finish };
}

/** The parts that the message had before this response, if the response continues it. */
function continued(sent: readonly UIMessage[], id: string | undefined): UIMessage['parts'] {
  const last = sent.at(-1);
  return last?.role === 'assistant' && last.id === id ? last.parts : [];
}

/** Tracks the open calls: complete, for this client, and without a result. A repeated call counts once. */
function note(chunk: UIMessageChunk, open: Map<string, ToolCall>): void {
  if (chunk.type === 'tool-input-available' && !chunk.providerExecuted) {
    // A copy, so that a tool cannot change the conversation through its arguments.
    open.set(chunk.toolCallId, readCall(cloneJson(chunk)));
  }
  if (chunk.type === 'tool-output-available' || chunk.type === 'tool-output-error') open.delete(chunk.toolCallId);
}

/** Passes the complete answer to the plugins. */
async function* notifyPlugins(
  recorder: ResponseRecorder,
  finish: ChatAnswer['finish'],
  { plugins, sent, number }: Round,
  signal: AbortSignal,
): AsyncGenerator<UIMessageChunk> {
  if (!plugins.hasAnswerHooks()) return;
  const answer = toChatAnswer(await recorder.history(sent), finish, number);
  for (const { plugin, why } of await plugins.afterResponse(answer, signal)) {
    yield noticeOf(NOTICE_HOOK, `The plugin \`${plugin}\` failed after the answer: ${why}`);
  }
}

function tooManyRounds(most: number): UIMessageChunk {
  const text = `The model wants to call tools again after ${most} requests; the limit is reached, and they were not run.`;
  return noticeOf(NOTICE_TOOL_ROUNDS, text);
}

function noticeOf(code: string, message: string): UIMessageChunk {
  return { type: 'data-notice', data: { code, message } };
}

/** Reads up to `finish`, or to the end. The rest is read only so that the connection can be reused. */
async function* chunksOf(stream: ReadableStream<UIMessageChunk>, signal: AbortSignal): AsyncGenerator<UIMessageChunk> {
  const reader = stream.getReader();
  const leave = () => void reader.cancel().catch(() => {});
  signal.addEventListener('abort', leave);
  try {
    while (!signal.aborted) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
      if (value.type === 'finish') return void drain(reader);
    }
    leave();
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

async function drain(reader: ReadableStreamDefaultReader<UIMessageChunk>): Promise<void> {
  const leave = setTimeout(() => void reader.cancel().catch(() => {}), LINGER);
  try {
    while (!(await reader.read()).done);
  } catch {
    // The answer is whole; how its connection ends does not matter.
  } finally {
    clearTimeout(leave);
  }
}
