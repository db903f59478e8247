import type { AccountInfo, AccountChange } from '../../api/accounts';
import type { Role } from '../../api/console';
import { formatGroups, parseGroups } from './groups';

export interface ProfileDraft {
  name: string;
  email: string;
  role: Role;
  /** Separated by commas. */
  groups: string;
}

/** Only what the operator changed. Empty texts remove a value. */
export function profileChange(person: Pick<AccountInfo, 'name' | 'email' | 'role' | 'groups'>, draft: ProfileDraft): AccountChange {
  const [name, email] = [draft.name.trim() || null, draft.email.trim() || null];
  const groups = parseGroups(draft.groups);
  return {
    ...(name !== (person.name ?? null) && { name }),
    ...(email !== (person.email ?? null) && { email }),
    ...(draft.role !== person.role && { role: draft.role }),
    ...(formatGroups(groups) !== formatGroups(person.groups) && { groups }),
  };
}
