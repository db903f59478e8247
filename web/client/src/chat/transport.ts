/** A transport of the AI SDK, with the tools and plugins of this page. */

import { DefaultChatTransport, type UIMessage, type UIMessageChunk } from 'ai';

import { cloneJson } from '../json.js';
import type { PluginManager } from '../plugin/manager.js';
import type { RequestDraft } from '../plugin/plugin.js';
import type { Toolset } from '../plugin/toolset.js';
import { toReadableError } from './error.js';
import type { ChatSettings } from './options.js';
import { respond, type Round } from './respond.js';
import { sentMessages } from './resume.js';
import { nextRound } from './rounds.js';

/** Default for the maximum number of requests between two messages of the user. */
export const MAX_TOOL_ROUNDS = 5;
/** Default timeout of a tool in milliseconds. */
export const TOOL_TIMEOUT = 30_000;

type Sending<M extends UIMessage> = Parameters<DefaultChatTransport<M>['sendMessages']>[0];
type Resuming<M extends UIMessage> = Parameters<DefaultChatTransport<M>['reconnectToStream']>[0];

/** A sent request, from which a resumed answer continues. */
interface Sent {
  readonly chatId: string;
  readonly messages: readonly UIMessage[];
  readonly tools: Toolset;
  readonly isAgain: boolean;
}

/**
 * Tools run here and not in `onToolCall` of the chat: the stream does not wait for `onToolCall`, results must be part of the stream, and
 * stopping the answer must stop the tools.
 */
export class PluginTransport<M extends UIMessage> extends DefaultChatTransport<M> {
  readonly #plugins: PluginManager;
  readonly #settings: ChatSettings<M>;
  #last: Sent | undefined;

  constructor(plugins: PluginManager, settings: ChatSettings<M>) {
    const { url = '', fetch, credentials } = settings;
    super({
      api: `${url.replace(/\/+$/, '')}/api/chat`,
      headers: () => headersOf(settings),
      ...(fetch && { fetch }),
      ...(credentials && { credentials }),
    });
    this.#plugins = plugins;
    this.#settings = settings;
  }

  override async sendMessages(options: Sending<M>): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId, abortSignal } = options;
    // A copy, because a chat may change its messages in place.
    const messages = cloneJson(options.messages);
    const sent: Sent = { chatId, messages, tools: this.#plugins.toolset(), isAgain: false };
    this.#last = sent;
    const { draft, rest } = this.#draft(sent, options.body);
    const changed = await this.#plugins.beforeRequest(draft, abortSignal);
    const { maxSteps, resumable } = this.#settings;
    const usual = { ...(maxSteps !== undefined && { maxSteps }), ...(resumable && { resumable }) };
    const body = { ...usual, ...rest, ...bodyOf(changed, sent.tools) };
    const request = { ...options, messages: changed.messages as M[], body };
    return this.#stream(() => super.sendMessages(request), sent, abortSignal);
  }

  override async reconnectToStream(options: Resuming<M>): Promise<ReadableStream<UIMessageChunk> | null> {
    const { chatId, abortSignal } = options;
    const last = this.#last?.chatId === chatId ? this.#last : undefined;
    // After a reload, only the messages that the page stored are known.
    const messages = last?.messages ?? sentMessages(this.#settings.messages ?? []);
    const sent: Sent = { chatId, messages, tools: last?.tools ?? this.#plugins.toolset(), isAgain: true };
    return this.#stream(() => super.reconnectToStream(options), sent, abortSignal);
  }

  #draft({ messages, tools }: Sent, body: object = {}): { draft: RequestDraft; rest: object } {
    const { model, system, selectedToolCategories, clientTools: _, ...rest } = body as Record<string, unknown>;
    const text = (value: unknown, otherwise: string | undefined) => (typeof value === 'string' ? value : otherwise);
    const categories = Array.isArray(selectedToolCategories) ? (selectedToolCategories as string[]) : this.#settings.categories;
    const draft: RequestDraft = {
      messages: cloneJson([...messages]),
      system: text(system, this.#settings.system),
      model: text(model, this.#settings.model),
      categories: [...(categories ?? [])],
      tools: tools.definitions(),
      round: nextRound(messages),
    };
    return { draft, rest };
  }

  async #stream<S extends ReadableStream<UIMessageChunk> | null>(
    ask: () => Promise<S>,
    { messages, tools, isAgain }: Sent,
    signal: AbortSignal | undefined,
  ): Promise<S | ReadableStream<UIMessageChunk>> {
    const { maxToolRounds = MAX_TOOL_ROUNDS, toolTimeout = TOOL_TIMEOUT, onToolCall } = this.#settings;
    const response = await ask().catch((error: unknown) => {
      throw toReadableError(error);
    });
    if (!response) return response;
    const round: Round = {
      number: nextRound(messages),
      most: maxToolRounds,
      sent: messages,
      isAgain,
      runner: { tools, over: onToolCall, limit: toolTimeout, trace: this.#plugins.trace },
      plugins: this.#plugins,
    };
    return streamOf((left) => respond(response, round, left), signal);
  }
}

async function headersOf({ token, user }: Pick<ChatSettings, 'token' | 'user'>): Promise<Record<string, string>> {
  const secret = typeof token === 'function' ? await token() : token;
  return { ...(secret && { Authorization: `Bearer ${secret}` }), ...(user && { 'X-User-Id': user }) };
}

/** The body of a request, except its messages. Members without a value are omitted. */
function bodyOf(draft: RequestDraft, offered: Toolset): object {
  const wanted = new Set(draft.tools.map((tool) => tool?.name));
  const clientTools = offered.definitions().filter(({ name }) => wanted.has(name));
  return {
    ...(clientTools.length > 0 && { clientTools }),
    ...(draft.categories.length > 0 && { selectedToolCategories: draft.categories }),
    ...(draft.model !== undefined && { model: draft.model }),
    ...(draft.system !== undefined && { system: draft.system }),
  };
}

/** Turns chunks into a stream. It does nothing until it is read; cancelling it or aborting `signal` cancels everything. */
function streamOf(
  tell: (left: AbortSignal) => AsyncGenerator<UIMessageChunk>,
  signal: AbortSignal | undefined,
): ReadableStream<UIMessageChunk> {
  const left = new AbortController();
  if (signal?.aborted) left.abort();
  signal?.addEventListener('abort', () => left.abort(), { once: true });
  const chunks = tell(left.signal);
  return new ReadableStream<UIMessageChunk>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        left.abort();
        await chunks.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
