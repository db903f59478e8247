/** Settings of the user and the server. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMe } from '../../api/queries';
import { Page } from '../../ui/page';
import { Tabs } from '../../ui/tabs';
import { About } from './about';
import { Account } from './account/account';
import { ApprovalRules } from './approval-rules';
import { ConnectedClients } from './connected-clients';
import { Grants } from './grants';
import { Models } from './models';
import { Notifications } from './notifications';
import { Policy } from './policy';
import { Tokens } from './tokens';
import { Upstreams } from './upstreams';
import './style.css';

const TABS = [
  { id: 'account', name: 'Account', to: 'all', part: Account },
  { id: 'tokens', name: 'Tokens', to: 'all', part: Tokens },
  { id: 'clients', name: 'Connected clients', to: 'all', part: ConnectedClients },
  { id: 'notifications', name: 'Notifications', to: 'all', part: Notifications },
  { id: 'grants', name: 'Apps and grants', to: 'all', part: Grants },
  { id: 'upstreams', name: 'Upstreams', to: 'builders', part: Upstreams },
  { id: 'plugins', name: 'Plugin policy', to: 'all', part: Policy },
  { id: 'approvals', name: 'Approval policy', to: 'operators', part: ApprovalRules },
  { id: 'models', name: 'Models', to: 'all', part: Models },
  { id: 'about', name: 'About', to: 'all', part: About },
] as const;

export function SettingsPage() {
  const me = useMe();
  const { tab } = useSearch({ from: '/settings' });
  const navigate = useNavigate({ from: '/settings' });
  const tabs = TABS.filter(({ to }) => to === 'all' || (to === 'builders' ? me.builds : me.operates));
  const current = tabs.find((one) => one.id === tab) ?? TABS[0];
  const Part = current.part;
  return (
    <Page title="Settings">
      <div className="settings-page">
        <Tabs label="Settings" tabs={tabs} current={current.id} onChange={(next) => void navigate({ search: { tab: next } })}>
          <Part />
        </Tabs>
      </div>
    </Page>
  );
}
