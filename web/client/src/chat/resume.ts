/**
 * Resumes an answer after a lost connection. The server replays its last response from the start, and the AI SDK takes it for the whole
 * message. The parts of earlier rounds are therefore replayed here, so that they are not lost.
 */

import { getToolName, isDataUIPart, isToolUIPart, type UIMessage, type UIMessageChunk } from 'ai';

/**
 * The messages that were sent for the last response, as far as the page has stored them: everything up to the last step in which all
 * tools of this client have a result. The rest belongs to the response.
 */
export function sentMessages<M extends UIMessage>(messages: readonly M[]): M[] {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return [...messages];
  const starts = last.parts.flatMap((part, index) => (part.type === 'step-start' ? [index] : []));
  const ends = [...starts.slice(1), last.parts.length];
  const sent = ends.findLast((end, step) => isAnswered(last.parts.slice(starts[step], end)));
  const before = messages.slice(0, -1);
  return sent === undefined ? before : [...before, { ...last, parts: last.parts.slice(0, sent) }];
}

function isAnswered(step: UIMessage['parts']): boolean {
  const calls = step.filter(isToolUIPart).filter((part) => !part.providerExecuted);
  return calls.length > 0 && calls.every(({ state }) => state === 'output-available' || state === 'output-error');
}

/** The chunks that reproduce the parts of a message. */
export function* replayParts(parts: UIMessage['parts']): Generator<UIMessageChunk> {
  for (const [index, part] of parts.entries()) {
    const id = `before-${index}`;
    if (part.type === 'step-start') yield { type: 'start-step' };
    else if (part.type === 'text' || part.type === 'reasoning') {
      yield { type: `${part.type}-start`, id };
      yield { type: `${part.type}-delta`, id, delta: part.text };
      yield { type: `${part.type}-end`, id };
    } else if (isToolUIPart(part)) yield* replayCall(part);
    else if (isDataUIPart(part)) yield { ...part };
    else if (part.type === 'source-url' || part.type === 'source-document') yield { ...part };
    else if (part.type === 'file') yield { type: 'file', url: part.url, mediaType: part.mediaType };
  }
}

type ToolPart = Extract<UIMessage['parts'][number], { toolCallId: string }>;

function* replayCall(part: ToolPart): Generator<UIMessageChunk> {
  const { toolCallId, input } = part;
  const who = { toolCallId, ...(part.providerExecuted && { providerExecuted: true }) };
  const dynamic = part.type === 'dynamic-tool' && { dynamic: true };
  yield { type: 'tool-input-available', toolName: getToolName(part), input, ...who, ...dynamic };
  if (part.state === 'output-available') yield { type: 'tool-output-available', output: part.output, ...who, ...dynamic };
  if (part.state === 'output-error') yield { type: 'tool-output-error', errorText: part.errorText, ...who, ...dynamic };
}
