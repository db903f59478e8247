/** Approvals: what waits for the user's answer, what they allowed for later calls, and changed definitions. */
import { Page } from '../../ui/page';
import { Tabs } from '../../ui/tabs';
import { useUrlChoice } from '../../ui/url-state';
import { ChangedDefinitions } from './changed';
import { Inbox } from './inbox';
import { Remembered } from './remembered';
import './style.css';

const TABS = [
  { id: 'inbox', name: 'Inbox' },
  { id: 'remembered', name: 'Remembered' },
  { id: 'changed', name: 'Changed definitions' },
] as const;

export function ApprovalsPage() {
  const [tab, setTab] = useUrlChoice('tab', ['inbox', 'remembered', 'changed']);
  return (
    <Page title="Approvals" lead="Calls that wait for your yes or no, what you allowed in advance, and tools that changed.">
      <div className="approvals-page">
        <Tabs label="Approvals" tabs={TABS} current={tab} onChange={(next) => setTab(next as typeof tab)}>
          {tab === 'inbox' && <Inbox />}
          {tab === 'remembered' && <Remembered />}
          {tab === 'changed' && <ChangedDefinitions />}
        </Tabs>
      </div>
    </Page>
  );
}
