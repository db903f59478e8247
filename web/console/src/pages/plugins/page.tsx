/** Plugins in this browser, the catalogue, and the user's plugins on the server, if it runs plugins. */
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { useMe } from '../../api/queries';
import { Button } from '../../ui/button';
import { Page } from '../../ui/page';
import { Tabs } from '../../ui/tabs';
import { useUrlChoice } from '../../ui/url-state';
import { AddDialog } from './add-dialog';
import { Catalogue } from './catalogue';
import { InBrowser } from './in-browser';
import { OnServer } from './on-server';
import { ReviewDialog, type Target } from './review-dialog';
import './style.css';

type Tab = 'browser' | 'catalogue' | 'server';

export function PluginsPage() {
  const me = useMe();
  const [tab, setTab] = useUrlChoice('tab', ['browser', 'catalogue', 'server']);
  const [adding, setAdding] = useState(false);
  const [text, setText] = useState<string | null>(null);
  const shown: Tab = tab === 'server' && !me.plugins.enabled ? 'browser' : tab;
  const target: Target = shown === 'server' ? 'server' : 'browser';
  const tabs = [
    { id: 'browser', name: 'In this browser' },
    { id: 'catalogue', name: 'Catalogue' },
    ...(me.plugins.enabled ? [{ id: 'server', name: 'On the server' }] : []),
  ];
  const add = (
    <Button kind="primary" icon={<Plus size={18} aria-hidden />} onClick={() => setAdding(true)}>
      Add a plugin
    </Button>
  );
  return (
    <div className="plugins-page">
      <Page
        title="Plugins"
        lead="Small programs that add tools to your chats. They run in a sandbox, with only the permissions that you grant."
        actions={add}
      >
        <Tabs label="Plugin locations" tabs={tabs} current={shown} onChange={(next) => setTab(next as Tab)}>
          {shown === 'browser' && <InBrowser onReview={setText} onAdd={() => setAdding(true)} />}
          {shown === 'catalogue' && <Catalogue onReview={setText} />}
          {shown === 'server' && <OnServer />}
        </Tabs>
        {adding && (
          <AddDialog
            onClose={() => setAdding(false)}
            onText={(given) => {
              setAdding(false);
              setText(given);
            }}
          />
        )}
        {text !== null && <ReviewDialog key={text} text={text} first={target} onClose={() => setText(null)} onInstalled={setTab} />}
      </Page>
    </div>
  );
}
