import { useState } from 'react';
import { dismissOlder, olderPlugins } from '../../plugins/older';
import { useInstalled } from '../../plugins/store';
import { Button } from '../../ui/button';

/** Plugins of an older client: the user can review each of them; none runs by itself. */
export function OlderImport({ onReview }: { onReview: (text: string) => void }) {
  const installed = useInstalled();
  const [found, setFound] = useState(olderPlugins);
  const left = found.filter(({ text }) => !installed.some(({ raw }) => raw === text));
  if (left.length === 0) return null;
  return (
    <section className="notice warn older" aria-label="Plugins of an older client">
      <h2>Plugins of an older client</h2>
      <p>They are stored in this browser and do not run. Review each one before you import it. They count as unsigned.</p>
      <ul className="plain-list">
        {left.map(({ name, text }, place) => (
          <li key={place} className="row between">
            <strong>{name}</strong>
            <Button small onClick={() => onReview(text)}>
              Review<span className="hidden">: {name}</span>
            </Button>
          </li>
        ))}
      </ul>
      <Button
        small
        kind="quiet"
        onClick={() => {
          dismissOlder();
          setFound([]);
        }}
      >
        Do not show again
      </Button>
    </section>
  );
}
