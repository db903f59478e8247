/** What apps said, as text, and whether it was played. */
import { Volume2, VolumeX } from 'lucide-react';
import { Badge } from '../../ui/feedback';
import { Switch } from '../../ui/form';
import { Card } from '../../ui/page';
import { setMuted } from './link';
import type { Spoken } from './state';

const OUTCOMES: Record<Spoken['outcome'], string | null> = {
  playing: 'speaking',
  heard: null,
  muted: 'muted',
  silent: 'not played: the browser has no voice for it',
};

interface Props {
  aloud: readonly Spoken[];
  muted: boolean;
  nameOf: (app: string) => string;
}

export function SpokenList({ aloud, muted, nameOf }: Props) {
  const Icon = muted ? VolumeX : Volume2;
  return (
    <Card
      title="Spoken"
      actions={
        <span className="row">
          <Icon size={18} aria-hidden />
          <Switch label="Mute" shown on={muted} onChange={setMuted} />
        </span>
      }
    >
      {aloud.length === 0 && <p className="muted flat">Nothing yet. What apps say is played and listed here.</p>}
      <ol className="plain-list aloud" aria-label="Spoken" aria-live="polite">
        {aloud.map((one) => (
          <li key={one.id}>
            <p className="row flat">
              <strong>{nameOf(one.app)}</strong>
              {OUTCOMES[one.outcome] !== null && <Badge kind={one.outcome === 'silent' ? 'warn' : 'plain'}>{OUTCOMES[one.outcome]}</Badge>}
            </p>
            <p className="flat words">{one.text ?? 'Audio without text.'}</p>
          </li>
        ))}
      </ol>
    </Card>
  );
}
