/** Live events, newest first. */
import { Link } from '@tanstack/react-router';
import { Button } from '../../ui/button';
import { Card } from '../../ui/page';
import { clearLog } from './link';
import type { LogEntry } from './state';

const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const KINDS: Record<LogEntry['kind'], string> = {
  device: 'glasses',
  app: 'app',
  picture: 'display',
  call: 'call',
  you: 'you',
  problem: 'problem',
};

export function EventLog({ log, nameOf }: { log: readonly LogEntry[]; nameOf: (app: string) => string }) {
  return (
    <Card
      title="Events"
      actions={
        log.length > 0 && (
          <Button small kind="quiet" onClick={clearLog}>
            Clear
          </Button>
        )
      }
    >
      {log.length === 0 && (
        <p className="muted flat">
          No events yet. Connect the glasses, then speak, or call a tool in the <Link to="/chat">Chat</Link>.
        </p>
      )}
      <ol className="plain-list events" aria-label="Events" tabIndex={0}>
        {log.map((entry) => (
          <li key={entry.id} className={`event ${entry.kind}`}>
            <time dateTime={entry.at}>{CLOCK.format(new Date(entry.at))}</time>
            <span className="event-kind">{KINDS[entry.kind]}</span>
            <span className="grow">
              {entry.app !== null && <strong>{nameOf(entry.app)} </strong>}
              {entry.text}
            </span>
          </li>
        ))}
      </ol>
    </Card>
  );
}
