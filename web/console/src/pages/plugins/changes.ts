import type { Change } from '../../plugins/trust/compare';
import { describePermissions } from '../../plugins/trust/permissions';

/** The changes of an update as text. */
export function describeChanges(change: Change): string[] {
  return [
    ...describePermissions(change.asksForMore).map((words) => `New permission: ${words}`),
    ...(change.downgrade ? ['It is an older version.'] : []),
    ...(change.publisherChanged ? ['It has another publisher.'] : []),
    ...(change.signerChanged ? ['It is signed with another key, or not signed.'] : []),
    ...(change.toolsAdded.length > 0 ? [`New tools: ${change.toolsAdded.join(', ')}`] : []),
    ...(change.toolsRemoved.length > 0 ? [`Removed tools: ${change.toolsRemoved.join(', ')}`] : []),
  ];
}
