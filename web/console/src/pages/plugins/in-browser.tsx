/** The plugins of this browser. */
import { Puzzle } from 'lucide-react';
import { useJudged } from '../../plugins/judged';
import { Button } from '../../ui/button';
import { Empty, Loading } from '../../ui/feedback';
import { OlderImport } from './older-import';
import { PageTools } from './page-tools';
import { PluginCard } from './plugin-card';
import { RootCard, RootNotice } from './root-card';

export function InBrowser({ onReview, onAdd }: { onReview: (text: string) => void; onAdd: () => void }) {
  const judged = useJudged();
  return (
    <>
      <RootNotice />
      <OlderImport onReview={onReview} />
      {judged === undefined && <Loading what="plugins" />}
      {judged?.length === 0 && (
        <Empty title="No plugins yet">
          <p>
            <Puzzle size={28} aria-hidden />
          </p>
          <p>Add one from a file, or browse the catalogue.</p>
          <Button onClick={onAdd}>Add a plugin</Button>
        </Empty>
      )}
      <ul className="plain-list stack plugin-list">
        {judged?.map((one) => (
          <li key={one.plugin.id}>
            <PluginCard judged={one} />
          </li>
        ))}
      </ul>
      <PageTools />
      <RootCard />
    </>
  );
}
