/** Plugins of this browser, the catalogue, and where the server runs plugins those of the user there. */
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { useMe } from '../../api/queries';
import { Button } from '../../ui/button';
import { Page } from '../../ui/page';
import { Tabs } from '../../ui/tabs';
import { AddDialog } from './add-dialog';
import { Catalogue } from './catalogue';
import { InBrowser } from './in-browser';
import { OnServer } from './on-server';
import { ReviewDialog, type Target } from './review-dialog';
import './style.css';

export function PluginsPage() {
  const me = useMe();
  const [tab, setTab] = useState('browser');
  const [adding, setAdding] = useState(false);
  const [text, setText] = useState<string | null>(null);
  const target: Target = tab === 'server' ? 'server' : 'browser';
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
    <Page title="Plugins" lead="Small programs that bring tools to your chats. They run in a sandbox, with no more than you allow." actions={add}>
      <Tabs label="Where plugins are" tabs={tabs} current={tab} onChange={setTab}>
        {tab === 'browser' && <InBrowser onReview={setText} onAdd={() => setAdding(true)} />}
        {tab === 'catalogue' && <Catalogue onReview={setText} />}
        {tab === 'server' && <OnServer />}
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
  );
}
