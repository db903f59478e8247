/** What went wrong in a chat, in words, and what helps. */
import { CutError, HookError, RefusedError } from '@toolyard/client';
import type { Talk } from './chats';

export interface ChatProblem {
  text: string;
  details: string[];
  /** What helps: the same again, or hearing the rest of the answer. */
  helps: 'retry' | 'resume';
}

export function problemOf(error: Error, talk: Talk): ChatProblem {
  const plain = (text: string): ChatProblem => ({ text, details: [], helps: 'retry' });
  if (error instanceof CutError) return { ...plain('The connection broke in the middle of the answer.'), helps: 'resume' };
  if (error instanceof HookError) return plain(error.message);
  if (error instanceof RefusedError) {
    const said = error.message.replace(/^the server refused the request: /, '');
    if (error.status === 429) return plain(`Too many requests. ${whenOf(talk.retryAt)}`);
    if (error.status === 503) return plain(`${said} ${whenOf(talk.retryAt)}`);
    if (error.status === 401) return plain('You are not signed in any more.');
    return { ...plain(said), details: error.problems.map(({ path, message }) => `${path}: ${message}`) };
  }
  if (error instanceof TypeError) return plain('The server cannot be reached.');
  return plain(error.message);
}

function whenOf(retryAt: number | null): string {
  if (retryAt === null) return 'Try again in a moment.';
  const seconds = Math.max(1, Math.ceil((retryAt - Date.now()) / 1_000));
  return seconds < 120 ? `Try again in ${seconds} s.` : `Try again in ${Math.ceil(seconds / 60)} minutes.`;
}
