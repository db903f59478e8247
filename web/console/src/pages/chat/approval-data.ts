/** Which approvals a message waits for: from data parts of the server, and from tool parts of the AI SDK. */
import type { DynamicToolUIPart, ToolUIPart } from 'ai';

interface ApprovalRef {
  /** The approval on the server. */
  id: string;
  /** The call that waits, if the server named it. */
  toolCallId?: string;
}

interface MessagePart {
  type: string;
  id?: unknown;
  data?: unknown;
}

/** A `data-approval` part, whose id is that of the approval. Anything else is null. */
export function approvalRef(part: MessagePart): ApprovalRef | null {
  if (part.type !== 'data-approval' || typeof part.id !== 'string' || part.id === '') return null;
  const { toolCallId } = (part.data ?? {}) as Record<string, unknown>;
  return { id: part.id, ...(typeof toolCallId === 'string' && { toolCallId }) };
}

/** The approval that a call waits for, by call. */
export function approvalsByCall(parts: readonly MessagePart[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const part of parts) {
    const ref = approvalRef(part);
    if (ref?.toolCallId !== undefined) found.set(ref.toolCallId, ref.id);
  }
  return found;
}

/** The id with which the AI SDK expects the answer; undefined if it waits for none. */
export function requestedApproval(part: ToolUIPart | DynamicToolUIPart): string | undefined {
  return part.state === 'approval-requested' ? part.approval.id : undefined;
}
