/**
 * The chats of this tab. They live outside of the page, so that an answer goes on while the user looks at another one, and
 * are written down while they change.
 */
import { Chat } from '@ai-sdk/react';
import { createChatOptions, type ChatSettings, type ToolyardMessage } from '@toolyard/client';
import type { ChatTransport } from 'ai';
import { plain } from '../../api/client';
import { credentials, onSessionChange } from '../../api/session';
import { browserTools, syncBrowserTools } from '../../plugins/manager';
import { toast } from '../../ui/toast';
import { contentOf, conversations, saveConversation } from './conversations';
import { INTERFACE, runHere } from './handlers';
import { CallNotes } from './notes';

const SAVE_EVERY_MS = 500;
/** For tools of this browser; the sandbox has a limit of its own below it. */
const TOOL_TIMEOUT_MS = 35_000;
const MAX_TOOL_ROUNDS = 10;

export class Talk {
  readonly chat: Chat<ToolyardMessage>;
  readonly notes: CallNotes;
  /** An answer was under way before a reload, and could not be heard again. */
  wasCut = false;
  /** When the server takes requests again, after it refused one. */
  retryAt: number | null = null;
  readonly #settings: ChatSettings;
  #saving: ReturnType<typeof setInterval> | undefined;
  #ending: Promise<unknown> = Promise.resolve();
  #warned = false;

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
        return runHere(run);
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

  get model(): string | null {
    return this.#settings.model ?? null;
  }

  /** The settings are read again before each request, those after tools ran included. */
  set model(name: string | null) {
    if (name === null) delete this.#settings.model;
    else this.#settings.model = name;
    if (this.chat.messages.length > 0) this.save();
  }

  /** A message of the user; with `messageId` in place of that one and all that followed. */
  async send(text: string, messageId?: string): Promise<void> {
    await this.#ready();
    await this.chat.sendMessage(messageId === undefined ? { text } : { text, messageId });
  }

  async retry(messageId?: string): Promise<void> {
    await this.#ready();
    await this.chat.regenerate(messageId === undefined ? {} : { messageId });
  }

  async resume(): Promise<void> {
    await this.#ready();
    await this.chat.resumeStream();
    this.save();
  }

  /** The server would go on for a while without a reader, so it is told as well. */
  async stop(): Promise<void> {
    this.#ending = plain(`/api/chat/${encodeURIComponent(this.id)}/stream`, { method: 'DELETE' }).catch(() => {});
    await this.chat.stop();
    this.save();
  }

  save(): void {
    const state = { open: this.isBusy, model: this.model };
    const saved = saveConversation(this.user, this.id, { messages: this.chat.messages, durations: this.notes.durations() }, state);
    if (!saved && !this.#warned) {
      this.#warned = true;
      toast('This browser has no room to keep the conversation.', true);
    }
  }

  leave(): void {
    clearInterval(this.#saving);
    void this.chat.stop();
  }

  async #ready(): Promise<void> {
    this.wasCut = false;
    this.retryAt = null;
    await Promise.all([syncBrowserTools(), this.#ending]);
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
    clearInterval(this.#saving);
    this.save();
    this.#saving = setInterval(() => {
      this.save();
      if (!this.isBusy) clearInterval(this.#saving);
    }, SAVE_EVERY_MS);
  }

  async #fetch(input: Parameters<typeof fetch>[0], init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(credentials())) headers.set(name, value);
    const response = await fetch(input, { ...init, headers });
    const seconds = response.ok ? Number.NaN : Number.parseInt(response.headers.get('Retry-After') ?? '', 10);
    this.retryAt = Number.isNaN(seconds) ? null : Date.now() + seconds * 1_000;
    return response;
  }
}

const talks = new Map<string, Talk>();

/** The chat of a conversation, the same one every time. */
export function talkOf(user: string, id: string): Talk {
  const known = talks.get(id);
  if (known?.user === user) return known;
  const made = new Talk(user, id);
  talks.set(id, made);
  return made;
}

export function forgetTalk(id: string): void {
  talks.get(id)?.leave();
  talks.delete(id);
}

// Nothing of one user is shown to the next.
onSessionChange(() => {
  for (const id of [...talks.keys()]) forgetTalk(id);
});

// The last words before a reload are kept too, and that the answer was not through.
window.addEventListener('pagehide', () => {
  for (const talk of talks.values()) if (talk.isBusy) talk.save();
});
