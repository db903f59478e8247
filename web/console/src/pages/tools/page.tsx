/** Every tool that the user has, by app: on or off, hidden and why, and what changed since they last looked. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { Refused } from '../../api/error';
import { useMe } from '../../api/queries';
import { Empty, ErrorBox, Loading } from '../../ui/feedback';
import { Select } from '../../ui/form';
import { Page } from '../../ui/page';
import { matches, Search } from '../../ui/search';
import { counted } from '../../ui/words';
import { Group } from './group';
import { appsOfUserQuery, offQuery, toolsQuery } from './queries';
import { SinceLastSeen, useSeen } from './since';
import type { Tool } from './tool';
import { useTools } from './use-tools';
import './style.css';

const SHOW = [
  { value: 'all', label: 'All tools' },
  { value: 'on', label: 'On' },
  { value: 'off', label: 'Off or hidden' },
  { value: 'changed', label: 'New or changed' },
] as const;

export function ToolsPage() {
  return (
    <div className="tools-page">
      <Page title="Tools" lead="What assistants can do for you. Turn off what they should not.">
        <Tools />
      </Page>
    </div>
  );
}

function Tools() {
  const me = useMe();
  const user = me.userId ?? me.name;
  const listed = useQuery(toolsQuery);
  const off = useQuery(offQuery);
  const apps = useQuery(appsOfUserQuery);
  const tools = useTools(listed.data, off.data, apps.data);
  const seen = useSeen(user, listed.data);
  const [search, setSearch] = useState('');
  const [show, setShow] = useState('all');
  const fresh = useMemo(() => new Set([...seen.changes.added, ...seen.changes.changed]), [seen.changes]);

  if (listed.isPending || off.isPending) return <Loading what="your tools" />;
  const error = listed.error ?? off.error;
  if (error instanceof Refused && error.noSession) return <NoSession user={user} />;
  // What was listed stays there when asking again fails.
  if (listed.data === undefined || off.data === undefined) {
    return <ErrorBox error={error} onRetry={() => void Promise.all([listed.refetch(), off.refetch()])} />;
  }
  const isShown = (tool: Tool) => {
    if (show === 'on' && (tool.isOff || tool.hidden !== undefined)) return false;
    if (show === 'off' && !tool.isOff && tool.hidden === undefined) return false;
    return show !== 'changed' || fresh.has(tool.name);
  };
  const groups = tools.groups
    .map((group) => ({ ...group, tools: group.tools.filter((tool) => isShown(tool) && matches(search, tool.name, tool.title, tool.description, group.name)) }))
    .filter((group) => group.tools.length > 0);
  if (tools.count === 0) {
    return (
      <Empty title="No tools yet">
        <p>
          Apps bring them. <Link to="/library">Find some in the library</Link>.
        </p>
      </Empty>
    );
  }
  return (
    <>
      <SinceLastSeen changes={seen.changes} onSeen={seen.mark} />
      <div className="row tools-head">
        <Search label="Search tools" value={search} onChange={setSearch} />
        <div className="tools-show">
          <Select aria-label="Which tools to show" value={show} onChange={setShow} options={SHOW} />
        </div>
        <p className="muted" role="status">
          {counted(tools.on, 'tool')} on, {tools.count - tools.on} off or hidden
        </p>
      </div>
      {groups.length === 0 && <Empty title="Nothing found" />}
      {groups.map((group) => (
        <Group key={group.package} group={group} added={seen.changes.added} changed={seen.changes.changed} />
      ))}
    </>
  );
}

function NoSession({ user }: { user: string }) {
  return (
    <Empty title="Nobody is live">
      <p>In dev mode the tools of {user} are there while glasses are connected, or something that stands for them.</p>
      <p>
        <Link to="/glasses" className="button primary">
          Open the Glasses page
        </Link>
      </p>
      <p>Connect there, and come back.</p>
    </Empty>
  );
}
