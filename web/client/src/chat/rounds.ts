/** The number of a request in a chat. Derived from the messages, so that it is correct after a reload and for regenerated answers. */

import { isToolUIPart, type UIMessage } from 'ai';

/**
 * The number of the next request since the last message of the user, from 1. Each earlier request ended with a step that called tools of
 * this client.
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

/** The messages after the last one of the user. */
export function sinceUser<M extends UIMessage>(messages: readonly M[]): M[] {
  return messages.slice(messages.findLastIndex((message) => message.role === 'user') + 1);
}
