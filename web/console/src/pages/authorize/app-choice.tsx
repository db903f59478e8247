/** For which apps: all, or some of them. */
import { useId, useState } from 'react';
import type { ConsentApp, ConsentInfo } from '../../api/clients';
import { appOptions, type ConsentSelection, toggleApp } from '../../clients/consent';
import { Check } from '../../ui/form';
import { joinList } from '../../ui/labels';
import { matches } from '../../ui/matches';
import { Search } from '../../ui/search';

/** Number of apps up to which there is no search field. */
const WITHOUT_SEARCH = 10;

interface Props {
  info: ConsentInfo;
  selection: ConsentSelection;
  onChange: (part: Partial<ConsentSelection>) => void;
}

export function AppChoice({ info, selection: { appMode, apps: selected }, onChange }: Props) {
  const { canBeAll, apps, missing } = appOptions(info);
  const group = useId();
  const mode = (value: ConsentSelection['appMode'], label: string) => (
    <label className="check">
      <input type="radio" name={group} checked={appMode === value} onChange={() => onChange({ appMode: value })} />
      {label}
    </label>
  );
  return (
    <fieldset className="card">
      <legend>Apps</legend>
      {canBeAll && mode('all', 'All your apps, also ones you install later')}
      {canBeAll && apps.length > 0 && mode('some', 'Only these apps')}
      {!canBeAll && <p className="muted">The client asks only for these apps.</p>}
      {missing.length > 0 && <p className="muted anywhere">You do not have {joinList(missing)}. The client gets no access to it.</p>}
      {appMode === 'some' && <AppList apps={apps} selected={selected} onChange={(next) => onChange({ apps: next })} />}
    </fieldset>
  );
}

interface ListProps {
  apps: readonly ConsentApp[];
  selected: ReadonlySet<string>;
  onChange: (selected: ReadonlySet<string>) => void;
}

function AppList({ apps, selected, onChange }: ListProps) {
  const [search, setSearch] = useState('');
  const found = apps.filter((app) => matches(search, app.name, app.package));
  return (
    <>
      {apps.length > WITHOUT_SEARCH && (
        <div className="row app-search">
          <Search label="Search your apps" value={search} onChange={setSearch} />
          <span className="muted" role="status">
            {selected.size} of {apps.length} selected
          </span>
        </div>
      )}
      <ul className="app-list plain-list" aria-label="Apps">
        {found.map((app) => (
          <li key={app.package}>
            <Check
              label={
                <span className="anywhere">
                  {app.name} <code>{app.package}</code>
                </span>
              }
              checked={selected.has(app.package)}
              onChange={(on) => onChange(toggleApp(selected, app.package, on))}
            />
          </li>
        ))}
        {found.length === 0 && apps.length > 0 && <li className="muted">Nothing found</li>}
      </ul>
    </>
  );
}
