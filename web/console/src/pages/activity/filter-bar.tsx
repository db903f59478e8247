import { useQuery } from '@tanstack/react-query';
import { useEffect, useId, useRef, useState } from 'react';
import { getUsers } from '../../api/console';
import { useMe } from '../../api/queries';
import { Button } from '../../ui/button';
import { Field, Input, Select } from '../../ui/form';
import { NO_FILTERS, RANGES, type Filters } from './filters';
import { CODES, splitTool } from './labels';

interface Props {
  filters: Filters;
  onChange: (next: Filters) => void;
  /** Known names to choose from. */
  apps: readonly string[];
  tools: readonly string[];
  /** Whether outcomes can be selected: charts include all of them. */
  outcomes: boolean;
}

export function FilterBar({ filters, onChange, apps, tools, outcomes }: Props) {
  const me = useMe();
  const set = (part: Partial<Filters>) => onChange({ ...filters, ...part });
  const changed = JSON.stringify({ ...filters, scope: '' }) !== JSON.stringify({ ...NO_FILTERS, scope: '' });
  const fitting = filters.app === '' ? tools : tools.filter((tool) => splitTool(tool).app === filters.app);
  return (
    <div className="filters" role="search" aria-label="Filters">
      {me.builds && (
        <Field label="Scope">
          <Select
            value={filters.scope}
            onChange={(scope) => set({ scope: scope === 'apps' ? 'apps' : 'mine' })}
            options={[
              { value: 'mine', label: me.operates && me.authMode === 'token' ? 'All calls' : 'My calls' },
              { value: 'apps', label: 'Calls of my apps' },
            ]}
          />
        </Field>
      )}
      <Field label="Time">
        <Select value={filters.hours} onChange={(hours) => set({ hours })} options={RANGES} />
      </Field>
      <Field label="App">
        <Select
          value={filters.app}
          onChange={(app) => set({ app, tool: splitTool(filters.tool).app === app ? filters.tool : '' })}
          options={choices(apps, filters.app)}
        />
      </Field>
      <Field label="Tool">
        <Select value={filters.tool} onChange={(tool) => set({ tool })} options={choices(fitting, filters.tool)} />
      </Field>
      {outcomes && (
        <Field label="Outcome">
          <Select value={filters.outcome} onChange={(outcome) => set({ outcome })} options={choices(CODES, filters.outcome)} />
        </Field>
      )}
      {me.operates && filters.scope === 'mine' && (
        <UserFilter value={filters.user} onChange={(user) => set({ user })} nobody={me.authMode === 'dev' ? 'you' : 'all users'} />
      )}
      {changed && (
        <Button kind="quiet" onClick={() => onChange({ ...NO_FILTERS, scope: filters.scope })}>
          Reset
        </Button>
      )}
    </div>
  );
}

/** Maximum number of users in the list; others are typed. */
const MOST_USERS = 200;

function choices(names: readonly string[], current: string) {
  const all = current === '' || names.includes(current) ? names : [current, ...names];
  return [{ value: '', label: 'Any' }, ...all.map((name) => ({ value: name, label: name }))];
}

const TYPED_MS = 400;

/** Applied when the user pauses typing, because half a name matches no user. */
function UserFilter({ value, onChange, nobody }: { value: string; onChange: (user: string) => void; nobody: string }) {
  const id = useId();
  const [typed, setTyped] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const users = useQuery({ queryKey: ['users', ''], queryFn: () => getUsers() });
  useEffect(() => setTyped(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <Field label="User">
      <Input
        value={typed}
        onChange={(user) => {
          setTyped(user);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => onChange(user), TYPED_MS);
        }}
        list={id}
        placeholder={nobody}
        autoComplete="off"
      />
      <datalist id={id}>
        {users.data?.users.slice(0, MOST_USERS).map((one) => (
          <option key={one.userId} value={one.userId} />
        ))}
      </datalist>
    </Field>
  );
}
