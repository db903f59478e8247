/** Approvals that wait for an answer, with keyboard shortcuts, and the answered ones below. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Bell } from 'lucide-react';
import { useRef, useState } from 'react';
import type { ApprovalInfo } from '../../api/approvals';
import { ApprovalCard } from '../../approvals/card';
import { approvalQuery } from '../../approvals/queries';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { Empty, ErrorBox, Loading } from '../../ui/feedback';
import { countLabel } from '../../ui/labels';
import { History } from './history';
import { useShortcuts, type Shortcut } from './shortcuts';
import { useInbox } from './use-inbox';

/** After the selection moved, answers by key are ignored for a moment: a second press must not answer something unread. */
const SETTLE_MS = 500;

export function Inbox() {
  const { pending, shown, waiting, clear } = useInbox();
  const [current, setCurrent] = useState<string>();
  const [isHelp, setHelp] = useState(false);
  const cards = useRef(new Map<string, HTMLElement>());
  const movedAt = useRef(0);
  const select = (id: string | undefined) => {
    if (id === undefined) return;
    setCurrent(id);
    movedAt.current = performance.now();
    const card = cards.current.get(id);
    card?.focus({ preventScroll: true });
    card?.scrollIntoView({ block: 'nearest' });
  };
  const step = (by: 1 | -1) => {
    const place = shown.findIndex(({ id }) => id === current);
    if (place < 0) return select((by === 1 ? shown[0] : shown.at(-1))?.id);
    select(shown[place + by]?.id);
  };
  const act = (shortcut: Shortcut) => {
    if (shortcut === 'help') return setHelp(true);
    if (shortcut === 'next') return step(1);
    if (shortcut === 'previous') return step(-1);
    if (current === undefined || performance.now() - movedAt.current < SETTLE_MS) return;
    cards.current.get(current)?.querySelector<HTMLElement>(`[data-answer="${shortcut}"]`)?.click();
  };
  useShortcuts(act);
  /** The next one that waits, after the answered one, or else from the start; the answered one keeps the focus if it was the last. */
  const moveOn = (from: string) => {
    const place = shown.findIndex(({ id }) => id === from);
    const next = [...shown.slice(place + 1), ...shown.slice(0, place)].find(({ id }) => waiting.has(id) && id !== from);
    select(next?.id ?? from);
  };
  const answered = shown.filter(({ id }) => !waiting.has(id)).length;
  return (
    <>
      <div className="row between inbox-head">
        <p className="muted flat" role="status">
          {pending.data !== undefined &&
            (pending.data.length === 0 ? 'Nothing is waiting.' : `${countLabel(pending.data.length, 'call')} waiting.`)}
        </p>
        <div className="row">
          {answered > 0 && (
            <Button small onClick={clear}>
              Clear answered
            </Button>
          )}
          <Link to="/settings" search={{ tab: 'notifications' }} className="button quiet small">
            <Bell size={15} aria-hidden />
            Notifications
          </Link>
          <Button small kind="quiet" onClick={() => setHelp(true)}>
            Keyboard shortcuts
          </Button>
        </div>
      </div>
      {pending.isPending && <Loading what="approvals" />}
      {pending.error && <ErrorBox error={pending.error} onRetry={() => void pending.refetch()} />}
      {pending.data !== undefined && shown.length === 0 && (
        <Empty title="Nothing to approve">
          <p>When an assistant wants to call a tool that needs your approval, the question appears here.</p>
        </Empty>
      )}
      <ul className="plain-list" aria-label="Approvals to answer">
        {shown.map((approval) => (
          <li key={approval.id}>
            <InboxCard
              approval={approval}
              isWaiting={waiting.has(approval.id)}
              isCurrent={approval.id === current}
              element={(element) => {
                if (element === null) cards.current.delete(approval.id);
                else cards.current.set(approval.id, element);
              }}
              onAnswered={() => moveOn(approval.id)}
            />
          </li>
        ))}
      </ul>
      <History except={shown} />
      {isHelp && <Help onClose={() => setHelp(false)} />}
    </>
  );
}

interface CardProps {
  approval: ApprovalInfo;
  isWaiting: boolean;
  isCurrent: boolean;
  element: (element: HTMLElement | null) => void;
  onAnswered: () => void;
}

/** An answered one is no longer in the list, so its state is read by itself. */
function InboxCard({ approval, isWaiting, isCurrent, element, onAnswered }: CardProps) {
  const latest = useQuery({ ...approvalQuery(approval.id), enabled: !isWaiting });
  return (
    <ApprovalCard
      approval={isWaiting ? approval : (latest.data ?? approval)}
      isCurrent={isCurrent}
      element={element}
      onAnswered={onAnswered}
    />
  );
}

const SHORTCUTS = [
  { keys: ['j', '↓'], does: 'Next approval' },
  { keys: ['k', '↑'], does: 'Previous approval' },
  { keys: ['a'], does: 'Approve the selected one' },
  { keys: ['d'], does: 'Deny the selected one' },
  { keys: ['?'], does: 'This help' },
] as const;

function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <table>
        <tbody>
          {SHORTCUTS.map(({ keys, does }) => (
            <tr key={does}>
              <th scope="row">
                {keys.map((key, place) => (
                  <span key={key}>
                    {place > 0 && ' or '}
                    <kbd>{key}</kbd>
                  </span>
                ))}
              </th>
              <td>{does}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
