/** Shows whether there are unsaved changes, and whether the server would accept them. Always visible. */
import { Check as Tick, CircleAlert, LoaderCircle } from 'lucide-react';
import { errorText } from '../../../api/error';
import { Button } from '../../../ui/button';
import type { Check } from './use-check';

interface Props {
  dirty: boolean;
  blocked: boolean;
  busy: boolean;
  version: number;
  check: Check;
  /** Whether the form itself found no problems. */
  isFine: boolean;
  onSave: () => void;
  onDiscard: () => void;
}

export function SaveBar({ dirty, blocked, busy, version, check, isFine, onSave, onDiscard }: Props) {
  return (
    <div className="save-bar">
      <div className="grow">
        <strong>{dirty ? 'Unsaved changes' : version === 0 ? 'Nothing saved yet' : `Version ${version} is in use`}</strong>
        <p role="status" className="save-bar-check">
          <CheckWords check={check} isFine={isFine} />
        </p>
      </div>
      <Button disabled={!dirty || busy} onClick={onDiscard}>
        Discard
      </Button>
      <Button kind="primary" disabled={!dirty || blocked || busy} onClick={onSave}>
        {busy ? 'Saving …' : 'Save as a new version'}
      </Button>
    </div>
  );
}

function CheckWords({ check, isFine }: { check: Check; isFine: boolean }) {
  const wrong = (words: string) => (
    <span className="bad">
      <CircleAlert size={15} aria-hidden /> {words}
    </span>
  );
  if (!isFine) return wrong('Fix the errors before saving.');
  if (check.state === 'waiting') {
    return (
      <span className="muted">
        <LoaderCircle size={15} aria-hidden /> Checking …
      </span>
    );
  }
  if (check.state === 'failed') return wrong(`Not checked: ${errorText(check.error)}`);
  const count = check.checked.problems.length;
  if (count > 0) return wrong(`${count === 1 ? '1 problem' : `${count} problems`} found.`);
  return (
    <span className="good">
      <Tick size={15} aria-hidden /> No problems found.
    </span>
  );
}
