/** The grant of each installed app, and its settings. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client';
import { queryClient } from '../../api/queries';
import { AppIcon } from '../../ui/app-icon';
import { Button } from '../../ui/button';
import { Empty, ErrorBox, Loading } from '../../ui/feedback';
import { Switch } from '../../ui/form';
import { FIRST, Lazy } from '../../ui/lazy';
import { containsWords, searchWords } from '../../ui/matches';
import { Search } from '../../ui/search';
import { toast } from '../../ui/toast';
import { useUrlText } from '../../ui/url-state';
import { useFlip } from '../../ui/use-flip';
import { countLabel } from '../../ui/labels';
import { installsQuery } from '../tools/queries';
import { AppSettings } from './app-settings';

/** Height of one app in pixels. */
const ROW_HEIGHT = 84;
/** Number of apps from which on there is a search field. */
const SEARCH_FROM = 6;

export function Grants() {
  const installs = useQuery(installsQuery);
  const [search, setSearch] = useUrlText('q');
  const all = installs.data?.installs ?? [];
  const words = searchWords(search);
  const found = all.filter(({ name, packageName }) => containsWords(words, `${name}\n${packageName}`.toLowerCase()));
  return (
    <>
      <p className="muted">
        By default, an app can use only its own tools. With the grant it can also call the tools of all your other apps for you, like an
        assistant. Give it only to apps that you trust with everything your tools can do.
      </p>
      {installs.isPending && <Loading what="your apps" />}
      {installs.error && <ErrorBox error={installs.error} onRetry={() => void installs.refetch()} />}
      {installs.data && all.length === 0 && (
        <Empty title="No apps">
          <p>
            Install one in the <Link to="/library">Library</Link>.
          </p>
        </Empty>
      )}
      {(all.length >= SEARCH_FROM || search !== '') && (
        <div className="row tab-head">
          <Search label="Search your apps" value={search} onChange={setSearch} />
          <p className="muted flat" role="status">
            {found.length === all.length ? countLabel(all.length, 'app') : `${found.length} of ${countLabel(all.length, 'app')}`}
          </p>
        </div>
      )}
      {all.length > 0 && found.length === 0 && <Empty title="Nothing found" />}
      <ul className="plain-list" aria-label="Your apps">
        {found.map(({ packageName, name, iconUrl, assistant }, place) => (
          <Lazy key={packageName} className="card" name={name} height={ROW_HEIGHT} first={place < FIRST}>
            {() => <Grant app={packageName} name={name} icon={iconUrl} granted={assistant} />}
          </Lazy>
        ))}
      </ul>
    </>
  );
}

function Grant({ app, name, icon, granted }: { app: string; name: string; icon: string | null | undefined; granted: boolean }) {
  const [open, setOpen] = useState(false);
  const { on, flip } = useFlip({
    id: `grant ${app}`,
    on: granted,
    send: (next) => {
      const params = { params: { path: { package: app } } };
      return next ? api.PUT('/api/installs/{package}/assistant', params) : api.DELETE('/api/installs/{package}/assistant', params);
    },
    onDone: async (next) => {
      await queryClient.invalidateQueries({ queryKey: ['installs'] });
      toast(next ? `${name} can now call the tools of your other apps.` : `${name} can now use only its own tools.`);
    },
  });
  const hasSettings = !app.startsWith('mcp.');
  return (
    <>
      <div className="row">
        <AppIcon name={name} packageName={app} icon={icon} />
        <div className="grow">
          <h2>{name}</h2>
          <code>{app}</code>
        </div>
        <div className="row">
          <Switch label="Can call tools of other apps" of={name} shown on={on} onChange={flip} />
          {hasSettings && (
            <Button small aria-expanded={open} onClick={() => setOpen(!open)} aria-label={`Settings of ${name}`}>
              Settings
            </Button>
          )}
        </div>
      </div>
      {open && <AppSettings app={app} name={name} />}
    </>
  );
}
