/** Activity on the server: calls, charts, and the health of upstreams. */
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, responseData } from '../../api/client';
import { useMe } from '../../api/queries';
import { Page } from '../../ui/page';
import { Tabs } from '../../ui/tabs';
import { useUrlChoice } from '../../ui/url-state';
import { CallList } from './call-list';
import { Export } from './export';
import { FilterBar } from './filter-bar';
import { Plots } from './plots';
import { UpstreamHealth } from './upstreams';
import { useFilters } from './use-filters';
import { splitTool } from './labels';
import './style.css';

export function ActivityPage() {
  const me = useMe();
  const [filters, setFilters] = useFilters();
  const [tab, setTab] = useUrlChoice('tab', ['calls', 'plots', 'upstreams']);
  const tabs = [
    { id: 'calls', name: 'Calls' },
    { id: 'plots', name: 'Charts' },
    ...(me.builds ? [{ id: 'upstreams', name: 'Upstreams' }] : []),
  ];
  const current = tabs.some((one) => one.id === tab) ? tab : 'calls';
  const names = useNames(filters.scope);
  return (
    <Page title="Activity" lead={leadFor(me, filters.scope)} actions={<Export filters={filters} />}>
      <div className="activity-page">
        <Tabs label="Activity" tabs={tabs} current={current} onChange={(next) => setTab(next as typeof tab)}>
          {current !== 'upstreams' && <FilterBar filters={filters} onChange={setFilters} {...names} outcomes={current === 'calls'} />}
          {current === 'calls' && <CallList filters={filters} />}
          {current === 'plots' && <Plots filters={filters} />}
          {current === 'upstreams' && <UpstreamHealth />}
        </Tabs>
      </div>
    </Page>
  );
}

function leadFor(me: { operates: boolean; authMode: string }, scope: 'mine' | 'apps'): string {
  const mine = me.operates && me.authMode === 'token' ? 'Every call on this server' : 'Every call made for you';
  const whose = scope === 'apps' ? 'Every call of your apps, by any user' : mine;
  return `${whose}. Arguments and results are not stored. Error messages are kept for a day.`;
}

/** Recently called apps and tools, for the filters. */
function useNames(scope: 'mine' | 'apps') {
  const usage = useQuery({
    queryKey: ['activity', 'names', scope],
    queryFn: () => responseData(api.GET('/api/usage', { params: { query: scope === 'apps' ? { of: 'apps' } : {} } })),
    staleTime: 30_000,
  });
  return useMemo(() => {
    const tools = usage.data?.tools.map((row) => row.tool) ?? [];
    const apps = [...new Set(tools.map((tool) => splitTool(tool).app).filter((app) => app !== null))];
    return { apps, tools };
  }, [usage.data]);
}
