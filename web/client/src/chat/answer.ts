/** An answer, whole, for those who want to hear of it. */

import { getToolName, isToolUIPart, readUIMessageStream, type FinishReason, type UIMessage, type UIMessageChunk } from 'ai';

import { copyOf } from '../json.js';
import type { ToolCall } from '../tool/call.js';
import { sinceUser } from './rounds.js';

/** What a call came to. */
export interface CallResult {
  /** The call. */
  callId: string;
  tool: string;
  /** Its result; of a call that failed, `{ error }`. */
  output: unknown;
  /** Whether the server ran it. */
  ofServer: boolean;
}

/** An answer, whole. */
export interface Answer {
  /** Its words, each text on a line of its own. */
  text: string;
  /** All calls, of the server and of this client, in order. */
  calls: ToolCall[];
  /** What they came to. Calls without a result are open. */
  results: CallResult[];
  /** Why it ended: as the server says, or `tool-rounds` where the limit of rounds was reached. */
  finish: FinishReason | 'tool-rounds';
  /** The conversation with this answer in it. */
  history: UIMessage[];
  /** How many requests it took. */
  rounds: number;
}

/** What was told of a response, kept short: what only draws it on a screen is left out. */
export class Told {
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

  /** The messages that were sent, and this response behind or in the last one, as the AI SDK puts it together. */
  async history(sent: readonly UIMessage[]): Promise<UIMessage[]> {
    const last = sent.at(-1);
    const continued = last?.role === 'assistant' ? copyOf(last) : undefined;
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

/** An answer from the history that ends with it. */
export function answerOf(history: UIMessage[], finish: Answer['finish'], rounds: number): Answer {
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
