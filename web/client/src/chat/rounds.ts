/** Which request of a chat it is. Counted in the messages, so that it holds after a reload and for answers made anew. */

import { isToolUIPart, type UIMessage } from 'ai';

/**
 * Which request since the last message of the user comes next, from 1. Each one before ended with a step that called tools
 * of this client: the server waits there.
 */
export function nextRound(messages: readonly UIMessage[]): number {
  const parts = sinceUser(messages).flatMap((message) => [{ type: 'step-start' as const }, ...message.parts]);
  let rounds = 1;
  let counted = false;
  for (const part of parts) {
    if (part.type === 'step-start') counted = false;
    else if (isToolUIPart(part) && !part.providerExecuted && !counted) {
      counted = true;
      rounds += 1;
    }
  }
  return rounds;
}

/** The messages behind the last one of the user. */
export function sinceUser<M extends UIMessage>(messages: readonly M[]): M[] {
  return messages.slice(messages.findLastIndex((message) => message.role === 'user') + 1);
}
