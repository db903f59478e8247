/** How a yes can be remembered. */
import type { ApprovalInfo, RememberScope } from '../api/approvals';

export type RememberChoice = 'once' | 'conversation' | 'tool' | 'arguments';

export const MAX_DAYS = 3_650;

/** The choices that the server accepts for this approval. Only once if it must not be remembered. */
export function rememberOptions(approval: ApprovalInfo): { value: RememberChoice; label: string }[] {
  const once = { value: 'once' as const, label: 'Only this call' };
  if (!approval.canRemember) return [once];
  return [
    once,
    ...(approval.inConversation ? [{ value: 'conversation' as const, label: 'This tool in this conversation' }] : []),
    { value: 'arguments', label: 'This tool with these arguments' },
    // What a conversation has read can be different next time.
    ...(approval.reason === 'dataFlow' ? [] : [{ value: 'tool' as const, label: 'This tool with any arguments' }]),
  ];
}

/** Whether a time limit applies. */
export const hasDays = (choice: RememberChoice) => choice === 'tool' || choice === 'arguments';

/** A number of days that the server accepts; undefined for no limit, null if the text is not one. */
export function daysOf(text: string): number | undefined | null {
  if (text.trim() === '') return undefined;
  const days = Number(text);
  return Number.isInteger(days) && days >= 1 && days <= MAX_DAYS ? days : null;
}

export function scopeOf(choice: RememberChoice, days: number | undefined): RememberScope {
  if (choice === 'tool' || choice === 'arguments') return { scope: choice, ...(days !== undefined && { days }) };
  return { scope: choice };
}
