/** A complete answer, for the `afterResponse` hook. */

import { getToolName, isToolUIPart, readUIMessageStream, type FinishReason, type UIMessage, type UIMessageChunk } from 'ai';

import { cloneJson } from '../json.js';
import type { ToolCall } from '../tool/call.js';
import { sinceUser } from './rounds.js';

/** The result of a call. */
export interface CallResult {
  /** The id of the call. */
  callId: string;
  tool: string;
  /** Its result, or `{ error }` if the call failed. */
  output: unknown;
  /** Whether the server ran it. */
  ofServer: boolean;
}

/** A complete answer. */
export interface ChatAnswer {
  /** The text parts, one per line. */
  text: string;
  /** All calls of the server and of this client, in order. */
  calls: ToolCall[];
  /** Results of the calls. A call without a result is still open. */
  results: CallResult[];
  /** Why it ended: the server's reason, or `tool-rounds` if the limit on rounds was reached. */
  finish: FinishReason | 'tool-rounds';
  /** The conversation, including this answer. */
  history: UIMessage[];
  /** Number of requests. */
  rounds: number;
}

/** Records the chunks of a response, without those that only matter for rendering. */
export class ResponseRecorder {
  #chunks: UIMessageChunk[] = [];

  add(chunk: UIMessageChunk): void {
    if (chunk.type === 'tool-input-start' || chunk.type === 'tool-input-delta') return;
    if ('transient' in chunk && chunk.transient) return;
    const last = this.#chunks.at(-1);
    if ((chunk.type === 'text-delta' || chunk.type === 'reasoning-delta') && last?.type === chunk.type && last.id === chunk.id) {
      this.#chunks[this.#chunks.length - 1] = { ...last, delta: last.delta + chunk.delta };
    } else {
      this.#chunks.push(chunk);
    }
  }

  /** The sent messages and this response, which the AI SDK appends to the last message or after it. */
  async history(sent: readonly UIMessage[]): Promise<UIMessage[]> {
    const last = sent.at(-1);
    const continued = last?.role === 'assistant' ? cloneJson(last) : undefined;
    const chunks = this.#chunks;
    const stream = new ReadableStream<UIMessageChunk>({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk);
        controller.close();
      },
    });
    let message: UIMessage | undefined;
    const source = { stream, terminateOnError: true, ...(continued && { message: continued }) };
    for await (const state of readUIMessageStream(source)) message = state;
    const before = continued ? sent.slice(0, -1) : sent;
    return message ? [...before, message] : [...sent];
  }
}

/** Builds an answer from the history that ends with it. */
export function toChatAnswer(history: UIMessage[], finish: ChatAnswer['finish'], rounds: number): ChatAnswer {
  const parts = sinceUser(history).flatMap((message) => message.parts);
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  const calls: ToolCall[] = [];
  const results: CallResult[] = [];
  for (const part of parts.filter(isToolUIPart)) {
    const { toolCallId: id, input, providerExecuted: ofServer = false } = part;
    const tool = getToolName(part);
    calls.push({ id, tool, input, ofServer });
    if (part.state === 'output-available') results.push({ callId: id, tool, output: part.output, ofServer });
    if (part.state === 'output-error') results.push({ callId: id, tool, output: { error: part.errorText }, ofServer });
  }
  return { text, calls, results, finish, history, rounds };
}
