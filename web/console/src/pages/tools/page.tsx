/** The user's tools by app: on or off, hidden with the reason, and changes since the last visit. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useCallback, useMemo, useState } from 'react';
import { useMe } from '../../api/queries';
import { Empty, ErrorBox, Loading } from '../../ui/feedback';
import { Select } from '../../ui/form';
import { Lazy } from '../../ui/lazy';
import { Page } from '../../ui/page';
import { containsWords, searchWords } from '../../ui/matches';
import { Search } from '../../ui/search';
import { useUrlChoice, useUrlText } from '../../ui/url-state';
import { countLabel } from '../../ui/labels';
import { Group, GROUP_HEAD, ROW_HEIGHT } from './group';
import { installsQuery, offQuery, toolsQuery } from './queries';
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

const NONE: ReadonlySet<string> = new Set();

export function ToolsPage() {
  return (
    <div className="tools-page">
      <Page title="Tools" lead="What assistants can do for you. Turn off tools that they should not use.">
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
  const apps = useQuery(installsQuery);
  const tools = useTools(listed.data, off.data, apps.data?.installs);
  const seen = useSeen(user, listed.data);
  const [search, setSearch] = useUrlText('q');
  const [show, setShow] = useUrlChoice('show', ['all', 'on', 'off', 'changed']);
  // A tool that is switched under a filter stays visible until the filter changes: otherwise it would vanish under the pointer and the
  // focus.
  const [switched, setSwitched] = useState<ReadonlySet<string>>(NONE);
  const onSwitch = useCallback((name: string) => setSwitched((now) => new Set([...now, name])), []);
  const marks = useMemo(() => {
    const { added, changed } = seen.changes;
    return new Map([...added.map((name) => [name, 'New'] as const), ...changed.map((name) => [name, 'Changed'] as const)]);
  }, [seen.changes]);

  if (listed.isPending || off.isPending || apps.isPending) return <Loading what="your tools" />;
  const error = listed.error ?? off.error;
  // Listed tools stay visible if a refetch fails.
  if (listed.data === undefined || off.data === undefined) {
    return <ErrorBox error={error} onRetry={() => void Promise.all([listed.refetch(), off.refetch()])} />;
  }
  const isShown = (tool: Tool) => {
    if (switched.has(tool.name)) return true;
    if (show === 'on' && (tool.isOff || tool.hidden !== undefined)) return false;
    if (show === 'off' && !tool.isOff && tool.hidden === undefined) return false;
    return show !== 'changed' || marks.has(tool.name);
  };
  const words = searchWords(search);
  const groups = tools.groups
    .map((group) => ({
      ...group,
      tools: group.tools.filter((tool) => isShown(tool) && containsWords(words, `${tool.words}\n${group.name.toLowerCase()}`)),
    }))
    .filter((group) => group.tools.length > 0);
  if (tools.count === 0) {
    return (
      <Empty title="No tools yet">
        <p>
          Apps provide tools. <Link to="/library">Find apps in the library</Link>.
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
          <Select
            aria-label="Which tools to show"
            value={show}
            onChange={(next) => {
              setSwitched(NONE);
              setShow(next as typeof show);
            }}
            options={SHOW}
          />
        </div>
        <p className="muted" role="status">
          {countLabel(tools.on, 'tool')} on, {tools.count - tools.on} off or hidden
        </p>
      </div>
      {groups.length === 0 && <Empty title="Nothing found" />}
      {groups.map((group, place) => (
        <Lazy
          key={group.package}
          as="section"
          className="card tools-group"
          label={group.name}
          name={group.name}
          height={GROUP_HEAD + ROW_HEIGHT * group.tools.length}
          first={place < 3}
        >
          {() => <Group group={group} marks={marks} onSwitch={onSwitch} />}
        </Lazy>
      ))}
    </>
  );
}
