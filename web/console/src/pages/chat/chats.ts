/**
 * The chats of this tab. They live outside of the page, so that an answer goes on while the user looks at another one, and
 * are written down while they change.
 */
import { Chat } from '@ai-sdk/react';
import { createChatOptions, CutError, type ChatSettings, type ToolyardMessage } from '@toolyard/client';
import type { ChatTransport } from 'ai';
import { answered, plain } from '../../api/client';
import { onLapse, onSessionChange } from '../../api/session';
import { browserTools, syncBrowserTools } from '../../plugins/manager';
import { toast, toastError } from '../../ui/toast';
import { contentOf, conversations, saveConversation } from './conversations';
import { INTERFACE, runHere } from './handlers';
import { CallNotes } from './notes';

const SAVE_EVERY_MS = 500;
/** For tools of this browser; the sandbox has a limit of its own below it. */
const TOOL_TIMEOUT_MS = 35_000;
const MAX_TOOL_ROUNDS = 10;
/** Conversations that are held in memory at once; those that are busy or shown come on top. */
const MAX_OPENED = 12;

export class Talk {
  readonly chat: Chat<ToolyardMessage>;
  readonly notes: CallNotes;
  /** An answer was under way before a reload, and could not be heard again. */
  wasCut = false;
  /** When the server takes requests again, after it refused one. */
  retryAt: number | null = null;
  /** Whether the user looks at it. */
  isShown = false;
  readonly #settings: ChatSettings;
  #saving: ReturnType<typeof setInterval> | undefined;
  #ending: Promise<unknown> = Promise.resolve();
  #warned = false;
  #left = false;
  /** Ends what is being heard. */
  #hearing: AbortController | undefined;
  /** The token lapsed in the middle of an answer. */
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
        return runHere(run, () => this.isShown);
      },
    };
    const options = createChatOptions(browserTools, this.#settings);
    this.chat = new Chat<ToolyardMessage>({
      ...options,
      id,
      transport: this.#watched(options.transport),
      onData: (part) => {
        if (part.type === 'data-progress') this.notes.hear(part.data);
      },
    });
    if (summary?.open === true) void this.resume();
  }

  get isBusy(): boolean {
    return this.chat.status === 'submitted' || this.chat.status === 'streaming';
  }

  /** Nothing is under way, and everything is written down. */
  get isAtRest(): boolean {
    return !this.isBusy && this.#saving === undefined;
  }

  get model(): string | null {
    return this.#settings.model ?? null;
  }

  /** The settings are read again before each request, those after tools ran included. */
  set model(name: string | null) {
    if (name === null) delete this.#settings.model;
    else this.#settings.model = name;
    if (this.chat.messages.length > 0) this.save();
  }

  /** A message of the user; with `messageId` in place of that one and all that followed. True as soon as it is on its way. */
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

  /** The server would go on for a while without a reader, so it is told as well. */
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
      toast('This browser has no room to keep the conversation.', true);
    }
  }

  /** The token lapsed: nothing more is heard with it. What was not sent yet waits for the next one by itself. */
  pause(): void {
    if (this.#hearing === undefined) return;
    this.#lapsed = true;
    this.#hearing.abort();
    this.#hearing = undefined;
    this.save();
  }

  /** There is a new token: what was cut off is heard from its first word. */
  goOn(): void {
    if (!this.#lapsed && !(this.chat.error instanceof CutError)) return;
    this.#lapsed = false;
    this.resume().catch(toastError);
  }

  /** From now on nothing is sent or written down. With `isDeleted` the server ends the answer too. */
  leave(isDeleted = false): void {
    const isOpen = this.isBusy || conversations(this.user).find(({ id }) => id === this.id)?.open === true;
    if (isDeleted && isOpen) void this.#endStream();
    this.#left = true;
    this.#stopSaving();
    void this.chat.stop();
  }

  #endStream(): Promise<unknown> {
    return plain(`/api/chat/${encodeURIComponent(this.id)}/stream`, { method: 'DELETE' }).catch(() => {});
  }

  /** False where it was left in the meantime. */
  async #ready(): Promise<boolean> {
    this.wasCut = false;
    this.retryAt = null;
    await Promise.all([syncBrowserTools(), this.#ending]);
    return !this.#left;
  }

  #watched(inner: ChatTransport<ToolyardMessage>): ChatTransport<ToolyardMessage> {
    return {
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
      // Where there is no room it is tried once more at the end.
      if (!this.#warned || !this.isBusy) this.save();
      if (!this.isBusy) this.#stopSaving();
    }, SAVE_EVERY_MS);
  }

  #stopSaving(): void {
    clearInterval(this.#saving);
    this.#saving = undefined;
  }

  async #fetch(input: Parameters<typeof fetch>[0], init: RequestInit = {}): Promise<Response> {
    const response = await answered(new Request(input, init));
    const seconds = response.ok ? Number.NaN : Number.parseInt(response.headers.get('Retry-After') ?? '', 10);
    this.retryAt = Number.isNaN(seconds) ? null : Date.now() + seconds * 1_000;
    return response.ok ? this.#heard(response) : response;
  }

  /** The same answer, which can be left in the middle. */
  #heard(response: Response): Response {
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

const talks = new Map<string, Talk>();

/** The chat of a conversation, the same one every time. */
export function talkOf(user: string, id: string): Talk {
  const known = talks.get(id);
  const talk = known?.user === user ? known : new Talk(user, id);
  // The last one that was asked for stands last.
  talks.delete(id);
  talks.set(id, talk);
  const resting = [...talks.values()].slice(0, -1).filter((one) => one.isAtRest && !one.isShown);
  for (const one of resting.slice(0, Math.max(0, talks.size - MAX_OPENED))) forgetTalk(one.id);
  return talk;
}

/** It is read again out of what was written down, unless it `isDeleted`. */
export function forgetTalk(id: string, isDeleted = false): void {
  talks.get(id)?.leave(isDeleted);
  talks.delete(id);
}

// Nothing of one user is shown to the next.
onSessionChange(() => {
  for (const id of [...talks.keys()]) forgetTalk(id);
});

onLapse((now) => {
  for (const talk of talks.values()) {
    if (now === 'lapsed') talk.pause();
    if (now === 'renewed') talk.goOn();
  }
});

// The last words before a reload are kept too, and that the answer was not through.
window.addEventListener('pagehide', () => {
  for (const talk of talks.values()) if (talk.isBusy) talk.save();
});
