/**
 * Conversations, stored only in this browser, separately for each user. Bounded: the oldest are deleted when there are too many or they
 * get too large. Saved immediately, so that a reload during an answer loses nothing.
 */
import { useSyncExternalStore } from 'react';
import type { ToolyardMessage } from '@toolyard/client';

export const MAX_CONVERSATIONS = 100;
/** Maximum characters of all conversations of a user, and of one. */
export const MAX_CHARS = 2 * 1024 * 1024;
export const MAX_CHARS_OF_ONE = 1024 * 1024;
const MAX_TITLE = 80;

export interface Summary {
  id: string;
  title: string;
  /** Whether the user renamed it. */
  named: boolean;
  createdAt: string;
  updatedAt: string;
  model: string | null;
  /** Whether an answer was in progress when it was saved. */
  open: boolean;
  chars: number;
}

export interface Content {
  messages: ToolyardMessage[];
  /** Durations of calls in milliseconds. */
  durations: Record<string, number>;
}

const listKey = (user: string) => `toolyard.chats/${user}`;
const contentKey = (user: string, id: string) => `toolyard.chat/${user}/${id}`;
const lists = new Map<string, readonly Summary[]>();
const listeners = new Set<() => void>();

window.addEventListener('storage', ({ key }) => {
  if (key !== null && !key.startsWith('toolyard.chats/')) return;
  lists.clear();
  tell();
});

const tell = () => {
  for (const listener of listeners) listener();
};

/** Newest first. */
export function conversations(user: string): readonly Summary[] {
  const known = lists.get(user);
  if (known !== undefined) return known;
  let read: readonly Summary[] = [];
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(listKey(user)) ?? '[]');
    if (Array.isArray(kept))
      read = kept.filter((one): one is Summary => typeof (one as Summary | null)?.id === 'string').slice(0, MAX_CONVERSATIONS);
  } catch {
    // What cannot be read is not there.
  }
  lists.set(user, read);
  return read;
}

export function useConversations(user: string): readonly Summary[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => conversations(user),
  );
}

export function contentOf(user: string, id: string): Content | null {
  try {
    const kept = JSON.parse(localStorage.getItem(contentKey(user, id)) ?? 'null') as Partial<Content> | null;
    if (!Array.isArray(kept?.messages)) return null;
    return { messages: kept.messages, durations: kept.durations ?? {} };
  } catch {
    return null;
  }
}

/** Saves a conversation. Returns false if this browser has no space even without the others; then all of them stay unchanged. */
export function saveConversation(user: string, id: string, content: Content, state: { open: boolean; model: string | null }): boolean {
  const text = withinBound(content);
  if (text === null) return false;
  const before = conversations(user).find((one) => one.id === id);
  const now = new Date().toISOString();
  const summary: Summary = {
    ...{ id, named: before?.named ?? false, createdAt: before?.createdAt ?? now, updatedAt: now, ...state, chars: text.length },
    title: before?.named === true ? before.title : titleOf(content.messages),
  };
  const others = conversations(user).filter((one) => one.id !== id);
  const key = contentKey(user, id);
  const was = new Map([[key, localStorage.getItem(key)]]);
  for (;;) {
    const chars = others.reduce((sum, one) => sum + one.chars, text.length);
    const fits = others.length < MAX_CONVERSATIONS && chars <= MAX_CHARS;
    if (fits && written(user, [summary, ...others], key, text)) return true;
    const oldest = others.pop();
    if (oldest === undefined) break;
    const gone = contentKey(user, oldest.id);
    was.set(gone, localStorage.getItem(gone));
    localStorage.removeItem(gone);
  }
  // Not enough even without the others, so keep them.
  localStorage.removeItem(key);
  for (const [name, content] of was) if (content !== null) putBack(name, content);
  return false;
}

function written(user: string, list: readonly Summary[], key: string, text: string): boolean {
  try {
    localStorage.setItem(key, text);
    writeList(user, list);
    return true;
  } catch {
    return false;
  }
}

function putBack(name: string, content: string): void {
  try {
    localStorage.setItem(name, content);
  } catch {
    // Another tab took the room just now.
  }
}

function writeList(user: string, list: readonly Summary[]): void {
  localStorage.setItem(listKey(user), JSON.stringify(list));
  lists.set(user, list);
  tell();
}

/** Removes the oldest messages if a conversation is too long. Null if its last message alone is too long. */
function withinBound({ messages, durations }: Content): string | null {
  let from = 0;
  for (;;) {
    const text = JSON.stringify({ messages: messages.slice(from), durations });
    if (text.length <= MAX_CHARS_OF_ONE) return text;
    if (from >= messages.length - 1) return null;
    from += Math.max(1, Math.floor((messages.length - from) / 8));
  }
}

export function renameConversation(user: string, id: string, title: string): void {
  writeList(
    user,
    conversations(user).map((one) => (one.id === id ? { ...one, title: title.slice(0, MAX_TITLE), named: true } : one)),
  );
}

export function deleteConversation(user: string, id: string): void {
  localStorage.removeItem(contentKey(user, id));
  writeList(
    user,
    conversations(user).filter((one) => one.id !== id),
  );
}

/** The start of the user's first message. */
export function titleOf(messages: readonly ToolyardMessage[]): string {
  const first =
    messages
      .find(({ role }) => role === 'user')
      ?.parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
      .join(' ') ?? '';
  const line = first.replace(/\s+/g, ' ').trim();
  return line === '' ? 'New conversation' : line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE - 1)}…` : line;
}
