import type { Change } from '../../plugins/trust/compare';
import { inWords } from '../../plugins/trust/permissions';

/** What an update changes, for people. */
export function changesInWords(change: Change): string[] {
  return [
    ...inWords(change.asksForMore).map((words) => `New permission: ${words}`),
    ...(change.downgrade ? ['It goes back to an older version.'] : []),
    ...(change.publisherChanged ? ['It names another publisher.'] : []),
    ...(change.signerChanged ? ['It is signed by another key, or by none.'] : []),
    ...(change.toolsAdded.length > 0 ? [`New tools: ${change.toolsAdded.join(', ')}`] : []),
    ...(change.toolsRemoved.length > 0 ? [`Tools that go: ${change.toolsRemoved.join(', ')}`] : []),
  ];
}
