/** Whether this browser still shows the checklist to a user. */
const storageKey = (user: string) => `toolyard.checklist/${user}`;

export const isChecklistHidden = (user: string) => localStorage.getItem(storageKey(user)) !== null;

export function hideChecklist(user: string): void {
  try {
    localStorage.setItem(storageKey(user), 'hidden');
  } catch {
    // No space: it is shown again after a reload.
  }
}
