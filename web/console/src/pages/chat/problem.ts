/** Error messages of a chat, and what to do. */
import { TruncatedError, HookError, RefusedError } from '@toolyard/client';
import type { ChatSession } from './chats';

export interface ChatProblem {
  text: string;
  details: string[];
  /** The suggested action: retry, or resume the answer. */
  helps: 'retry' | 'resume';
}

export function describeProblem(error: Error, talk: ChatSession): ChatProblem {
  const plain = (text: string): ChatProblem => ({ text, details: [], helps: 'retry' });
  if (error instanceof TruncatedError) return { ...plain('The connection was lost during the answer.'), helps: 'resume' };
  if (error instanceof HookError) return plain(error.message);
  if (error instanceof RefusedError) {
    const message = error.message.replace(/^the server refused the request: /, '');
    if (error.status === 429) return plain(`Too many requests. ${whenOf(talk.retryAt)}`);
    if (error.status === 503) return plain(`${message} ${whenOf(talk.retryAt)}`);
    if (error.status === 401) return plain('You are no longer signed in.');
    return { ...plain(message), details: error.problems.map(({ path, message }) => `${path}: ${message}`) };
  }
  if (error instanceof TypeError) return plain('The server cannot be reached.');
  return plain(error.message);
}

function whenOf(retryAt: number | null): string {
  if (retryAt === null) return 'Try again in a moment.';
  const seconds = Math.max(1, Math.ceil((retryAt - Date.now()) / 1_000));
  return seconds < 120 ? `Try again in ${seconds} s.` : `Try again in ${Math.ceil(seconds / 60)} minutes.`;
}
