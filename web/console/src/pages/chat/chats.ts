/**
 * The chats of this tab. They live outside of the page, so that an answer continues while the user looks at another page, and are saved
 * while they change.
 */
import { Chat } from '@ai-sdk/react';
import { createChatOptions, TruncatedError, type ChatSettings, type ToolyardMessage } from '@toolyard/client';
import { lastAssistantMessageIsCompleteWithApprovalResponses, type ChatTransport } from 'ai';
import { sendRequest, fetchRaw } from '../../api/client';
import { onLapse, onSessionChange } from '../../api/session';
import { browserTools, syncBrowserTools } from '../../plugins/manager';
import { toast, toastError } from '../../ui/toast';
import { contentOf, conversations, saveConversation } from './conversations';
import { INTERFACE, runInPage } from './handlers';
import { CallNotes } from './notes';
import { signInRequest } from './sign-in-data';

const SAVE_EVERY_MS = 500;
/** Timeout of tools in this browser; the sandbox has its own, lower limit. */
const TOOL_TIMEOUT_MS = 35_000;
const MAX_TOOL_ROUNDS = 10;
/** Says that this client shows approval requests and sends the answers. */
const APPROVALS_HEADER = 'x-toolyard-approvals';
/** Number of conversations in memory, in addition to those that are busy or visible. */
const MAX_OPENED = 12;

export class ChatSession {
  readonly chat: Chat<ToolyardMessage>;
  readonly notes: CallNotes;
  /** An answer was in progress before a reload and could not be resumed. */
  wasCut = false;
  /** When the server accepts requests again, after it rejected one. */
  retryAt: number | null = null;
  /** Whether the user is looking at it. */
  isShown = false;
  readonly #settings: ChatSettings;
  #saving: ReturnType<typeof setInterval> | undefined;
  #ending: Promise<unknown> = Promise.resolve();
  #warned = false;
  #left = false;
  /** Stops reading the stream. */
  #hearing: AbortController | undefined;
  /** The token lapsed during an answer. */
  #lapsed = false;

  constructor(
    readonly user: string,
    readonly id: string,
  ) {
    const kept = contentOf(user, id);
    const summary = conversations(user).find((one) => one.id === id);
    this.notes = new CallNotes(kept?.durations ?? {});
    this.#settings = {
      ...{ categories: [INTERFACE], resumable: true, toolTimeout: TOOL_TIMEOUT_MS, maxToolRounds: MAX_TOOL_ROUNDS },
      ...(summary?.model != null && { model: summary.model }),
      ...(kept !== null && { messages: kept.messages }),
      fetch: (input, init) => this.#fetch(input, init),
      onToolCall: (run) => {
        this.notes.begin(run.call.id);
        return runInPage(run, () => this.isShown);
      },
    };
    const options = createChatOptions(browserTools, this.#settings);
    this.chat = new Chat<ToolyardMessage>({
      ...options,
      id,
      transport: this.#watched(options.transport),
      // Once every call of an answer has its result, or the user's yes or no, the conversation continues by itself.
      sendAutomaticallyWhen: (state) => options.sendAutomaticallyWhen(state) || lastAssistantMessageIsCompleteWithApprovalResponses(state),
      onData: (part) => {
        if (part.type === 'data-progress') this.notes.hear(part.data);
        if (part.type === 'data-sign-in') this.notes.needSignIn(signInRequest(part.data));
      },
    });
    if (summary?.open === true) void this.resume();
  }

  get isBusy(): boolean {
    return this.chat.status === 'submitted' || this.chat.status === 'streaming';
  }

  /** Whether nothing is in progress, and everything is saved. */
  get isAtRest(): boolean {
    return !this.isBusy && this.#saving === undefined;
  }

  get model(): string | null {
    return this.#settings.model ?? null;
  }

  /** The settings are read before each request, including those with tool results. */
  set model(name: string | null) {
    if (name === null) delete this.#settings.model;
    else this.#settings.model = name;
    if (this.chat.messages.length > 0) this.save();
  }

  /**
   * Sends a message of the user; with `messageId`, it replaces that message and everything after it. Returns true as soon as it is sent.
   */
  async send(text: string, messageId?: string): Promise<boolean> {
    if (!(await this.#ready())) return false;
    this.chat.sendMessage(messageId === undefined ? { text } : { text, messageId }).catch(toastError);
    return true;
  }

  async retry(messageId?: string): Promise<void> {
    if (await this.#ready()) await this.chat.regenerate(messageId === undefined ? {} : { messageId });
  }

  async resume(): Promise<void> {
    if (!(await this.#ready())) return;
    await this.chat.resumeStream();
    this.save();
  }

  /** The server would continue for a while without a reader, so it is told to stop as well. */
  async stop(): Promise<void> {
    this.#ending = this.#endStream();
    await this.chat.stop();
    this.save();
  }

  save(): void {
    if (this.#left) return;
    const state = { open: this.isBusy || this.#lapsed, model: this.model };
    const saved = saveConversation(this.user, this.id, { messages: this.chat.messages, durations: this.notes.durations() }, state);
    if (!saved && !this.#warned) {
      this.#warned = true;
      toast('The storage of this browser is full. The conversation was not saved.', true);
    }
  }

  /** The token lapsed: stop reading. Requests that were not sent yet wait for the new token. */
  pause(): void {
    if (this.#hearing === undefined) return;
    this.#lapsed = true;
    this.#hearing.abort();
    this.#hearing = undefined;
    this.save();
  }

  /** There is a new token: an interrupted answer is read again from the start. */
  goOn(): void {
    if (!this.#lapsed && !(this.chat.error instanceof TruncatedError)) return;
    this.#lapsed = false;
    this.resume().catch(toastError);
  }

  /** Stops sending and saving. With `isDeleted`, the server also cancels the answer. */
  leave(isDeleted = false): void {
    const isOpen = this.isBusy || conversations(this.user).find(({ id }) => id === this.id)?.open === true;
    if (isDeleted && isOpen) void this.#endStream();
    this.#left = true;
    this.#stopSaving();
    void this.chat.stop();
  }

  #endStream(): Promise<unknown> {
    return fetchRaw(`/api/chat/${encodeURIComponent(this.id)}/stream`, { method: 'DELETE' }).catch(() => {});
  }

  /** False if the chat was closed meanwhile. */
  async #ready(): Promise<boolean> {
    this.wasCut = false;
    this.retryAt = null;
    await Promise.all([syncBrowserTools(), this.#ending]);
    return !this.#left;
  }

  #watched(inner: ChatTransport<ToolyardMessage>): ChatTransport<ToolyardMessage> {
    return {
      // A resumed answer replaces what was stored of it, instead of following it.
      resumeStreamIsReplay: true,
      sendMessages: async (options) => {
        this.#saveWhileBusy();
        return this.notes.watch(await inner.sendMessages(options));
      },
      reconnectToStream: async (options) => {
        const stream = await inner.reconnectToStream(options);
        this.wasCut = stream === null;
        if (stream === null) return null;
        this.#saveWhileBusy();
        return this.notes.watch(stream);
      },
    };
  }

  #saveWhileBusy(): void {
    this.#stopSaving();
    if (this.#left) return;
    this.save();
    this.#saving = setInterval(() => {
      // If the storage is full, saving is retried once at the end.
      if (!this.#warned || !this.isBusy) this.save();
      if (!this.isBusy) this.#stopSaving();
    }, SAVE_EVERY_MS);
  }

  #stopSaving(): void {
    clearInterval(this.#saving);
    this.#saving = undefined;
  }

  async #fetch(input: Parameters<typeof fetch>[0], init: RequestInit = {}): Promise<Response> {
    const request = new Request(input, init);
    request.headers.set(APPROVALS_HEADER, '1');
    const response = await sendRequest(request);
    const seconds = response.ok ? Number.NaN : Number.parseInt(response.headers.get('Retry-After') ?? '', 10);
    this.retryAt = Number.isNaN(seconds) ? null : Date.now() + seconds * 1_000;
    return response.ok ? this.#cancellable(response) : response;
  }

  /** The same response, which can be cancelled. */
  #cancellable(response: Response): Response {
    if (response.body === null) return response;
    const hearing = new AbortController();
    this.#hearing = hearing;
    const end = () => {
      if (this.#hearing === hearing) this.#hearing = undefined;
    };
    const body = response.body.pipeThrough(new TransformStream({ flush: end }), { signal: hearing.signal });
    return new Response(body, response);
  }
}

const talks = new Map<string, ChatSession>();

/** The chat of a conversation, always the same instance. */
export function getChatSession(user: string, id: string): ChatSession {
  const known = talks.get(id);
  const talk = known?.user === user ? known : new ChatSession(user, id);
  // The most recently used one is last.
  talks.delete(id);
  talks.set(id, talk);
  const resting = [...talks.values()].slice(0, -1).filter((one) => one.isAtRest && !one.isShown);
  for (const one of resting.slice(0, Math.max(0, talks.size - MAX_OPENED))) closeChatSession(one.id);
  return talk;
}

/** It is loaded again from storage, unless `isDeleted`. */
export function closeChatSession(id: string, isDeleted = false): void {
  talks.get(id)?.leave(isDeleted);
  talks.delete(id);
}

// The next user must not see data of the previous one.
onSessionChange(() => {
  for (const id of [...talks.keys()]) closeChatSession(id);
});

onLapse((now) => {
  for (const talk of talks.values()) {
    if (now === 'lapsed') talk.pause();
    if (now === 'renewed') talk.goOn();
  }
});

// Before a reload, save the latest text, and that the answer was not complete.
window.addEventListener('pagehide', () => {
  for (const talk of talks.values()) if (talk.isBusy) talk.save();
});
