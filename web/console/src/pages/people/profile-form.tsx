import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { changePerson, personQuery, type AccountInfo, type AccountChange } from '../../api/accounts';
import type { Role } from '../../api/console';
import { queryClient } from '../../api/queries';
import { withFreshSignIn } from '../../sign-in/fresh';
import { Button } from '../../ui/button';
import { ErrorBox, Notice } from '../../ui/feedback';
import { Field, Input, Select } from '../../ui/form';
import { Card } from '../../ui/page';
import { ROLES } from '../../ui/roles';
import { toast } from '../../ui/toast';
import { Unsaved } from '../../ui/unsaved';
import { formatGroups, parseGroups } from './groups';
import { profileChange, type ProfileDraft } from './profile-change';
import { refetchPeople } from './refetch';

const draftOf = (person: AccountInfo): ProfileDraft => ({
  name: person.name ?? '',
  email: person.email ?? '',
  role: person.role,
  groups: formatGroups(person.groups),
});

export function ProfileForm({ person }: { person: AccountInfo }) {
  // Only edited values: the rest follows the server, also while the operator types.
  const [edits, setEdits] = useState<Partial<ProfileDraft>>({});
  const draft = { ...draftOf(person), ...edits };
  const set = (part: Partial<ProfileDraft>) => setEdits((before) => ({ ...before, ...part }));
  const change = profileChange(person, draft);
  const isManaged = person.managedBy != null;
  const save = useMutation({
    mutationFn: (body: AccountChange) => withFreshSignIn(() => changePerson(person.userId, body)),
    onSuccess: async (now) => {
      toast(`The changes to ${person.userId} were saved.`);
      queryClient.setQueryData(personQuery(person.userId).queryKey, now);
      setEdits({});
      await refetchPeople();
    },
  });
  const isDirty = Object.keys(change).length > 0;
  return (
    <Card title="Profile">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isDirty && !save.isPending) save.mutate(change);
        }}
      >
        {save.error && <ErrorBox error={save.error} />}
        {isManaged && (
          <Notice>
            {person.managedBy} manages this account: its rules decide about the role and groups, and each sign-in updates them.
          </Notice>
        )}
        <div className="grid-2">
          <Field label="Name">
            <Input value={draft.name} onChange={(name) => set({ name })} autoComplete="off" maxLength={200} />
          </Field>
          <Field label="Email">
            <Input type="email" value={draft.email} onChange={(email) => set({ email })} autoComplete="off" maxLength={320} />
          </Field>
          <Field label="Role" hint={isManaged ? undefined : 'A new role signs the user out. A lower one also revokes tokens.'}>
            <Select value={draft.role} onChange={(role) => set({ role: role as Role })} options={ROLES} disabled={isManaged} />
          </Field>
          <Field label="Groups" hint="Separated by commas">
            <Input
              value={draft.groups}
              onChange={(groups) => set({ groups })}
              onBlur={() => set({ groups: formatGroups(parseGroups(draft.groups)) })}
              autoComplete="off"
              disabled={isManaged}
            />
          </Field>
        </div>
        {/* Not disabled: a disabled button loses the focus. */}
        <Button type="submit" kind="primary" aria-disabled={!isDirty || save.isPending}>
          Save
        </Button>
      </form>
      <Unsaved dirty={isDirty && !save.isPending} what={`The changes to ${person.userId} are not saved.`} />
    </Card>
  );
}
