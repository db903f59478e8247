/** The story of one response: tell it, run what waits for this client, tell that too. */

import type { FinishReason, UIMessage, UIMessageChunk } from 'ai';

import { copyOf } from '../json.js';
import type { PluginManager } from '../plugin/manager.js';
import { readCall, type ToolCall } from '../tool/call.js';
import { answerOf, Told, type Answer } from './answer.js';
import { CutError } from './error.js';
import { NOTICE_HOOK, NOTICE_TOOL_ROUNDS } from './message.js';
import { retold } from './resume.js';
import { runCalls, type Runner } from './run.js';

/** How long the connection may stay open after the end, in milliseconds. */
const LINGER = 1000;

/** What a response needs to know. */
export interface Round {
  /** Which one it is, from 1. */
  readonly number: number;
  /** Most rounds; 0 is no limit. */
  readonly most: number;
  /** The messages of the chat that it answers. */
  readonly sent: readonly UIMessage[];
  /** Whether it is heard again after a break. */
  readonly isAgain: boolean;
  readonly runner: Runner;
  readonly plugins: PluginManager;
}

/** Tells a response, with results of this client's tools before its end. Aborting `signal` ends everything. */
export async function* respond(
  response: ReadableStream<UIMessageChunk>,
  round: Round,
  signal: AbortSignal,
): AsyncGenerator<UIMessageChunk> {
  const told = new Told();
  const open = new Map<string, ToolCall>();
  let finish: FinishReason | undefined;
  let isOver = false;
  for await (const chunk of chunksOf(response, signal)) {
    told.add(chunk);
    note(chunk, open);
    if (chunk.type === 'error' || chunk.type === 'abort') isOver = true;
    if (chunk.type === 'finish') finish = chunk.finishReason ?? 'other';
    else yield chunk;
    if (chunk.type === 'start' && round.isAgain) yield* retold(continued(round.sent, chunk.messageId));
  }
  if (signal.aborted || isOver) return;
  if (finish === undefined) throw new CutError();
  const calls = finish === 'tool-calls' ? [...open.values()] : [];
  // Before they run: what is not sent back should not have happened.
  const tooMany = calls.length > 0 && round.most !== 0 && round.number >= round.most;
  if (tooMany) {
    const notice = tooManyRounds(round.most);
    told.add(notice);
    yield notice;
  }
  if (calls.length > 0 && !tooMany) yield* runCalls(calls, round.runner, signal);
  else yield* tellPlugins(told, tooMany ? 'tool-rounds' : finish, round, signal);
  if (!signal.aborted) yield { type: 'finish', finishReason: finish };
}

/** What the message had before the response, where it goes on with one. */
function continued(sent: readonly UIMessage[], id: string | undefined): UIMessage['parts'] {
  const last = sent.at(-1);
  return last?.role === 'assistant' && last.id === id ? last.parts : [];
}

/** Which calls are open: whole, for this client, and not answered. One that comes twice is one. */
function note(chunk: UIMessageChunk, open: Map<string, ToolCall>): void {
  if (chunk.type === 'tool-input-available' && !chunk.providerExecuted) {
    // A copy: what a tool does to its arguments does not enter the conversation.
    open.set(chunk.toolCallId, readCall(copyOf(chunk)));
  }
  if (chunk.type === 'tool-output-available' || chunk.type === 'tool-output-error') open.delete(chunk.toolCallId);
}

/** The answer is whole, so plugins hear of it. */
async function* tellPlugins(
  told: Told,
  finish: Answer['finish'],
  { plugins, sent, number }: Round,
  signal: AbortSignal,
): AsyncGenerator<UIMessageChunk> {
  if (!plugins.hearsAnswers()) return;
  const answer = answerOf(await told.history(sent), finish, number);
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

/** Reads to `finish`, or to the end. What comes behind it is waited for only so that the connection can be used again. */
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
