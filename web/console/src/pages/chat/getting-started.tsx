/** A checklist for new users. Each step is ticked off by what the user really has, and the list disappears when all are done. */
import { Link, type LinkProps } from '@tanstack/react-router';
import { Circle, CircleCheck, X } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useMe } from '../../api/queries';
import { IconButton } from '../../ui/button';
import { hideChecklist, isChecklistHidden } from './checklist-storage';
import { type CompletedSteps, useCompletedSteps } from './completed-steps';

interface Step {
  id: keyof CompletedSteps;
  label: string;
  link: Pick<LinkProps, 'to'>;
}

const STEPS: readonly Step[] = [
  { id: 'client', label: 'Connect a client', link: { to: '/connect' } },
  { id: 'install', label: 'Install an app', link: { to: '/library' } },
  { id: 'call', label: 'Try a tool', link: { to: '/tools' } },
  { id: 'conversation', label: 'Ask the assistant', link: { to: '/chat' } },
];

/** `onAsk`: the user wants to write a message. */
export function GettingStarted({ onAsk }: { onAsk: () => void }) {
  const me = useMe();
  const user = me.userId ?? me.name;
  const [isHidden, setHidden] = useState(() => isChecklistHidden(user));
  if (isHidden) return null;
  function hide() {
    hideChecklist(user);
    setHidden(true);
  }
  return <Checklist user={user} onAsk={onAsk} onHide={hide} />;
}

function Checklist({ user, onAsk, onHide }: { user: string; onAsk: () => void; onHide: () => void }) {
  const completed = useCompletedSteps(user);
  const isComplete = completed !== undefined && STEPS.every(({ id }) => completed[id]);
  useEffect(() => {
    // From now on nothing has to be fetched for it.
    if (isComplete) hideChecklist(user);
  }, [isComplete, user]);
  if (completed === undefined || isComplete) return null;
  return (
    <section className="card getting-started" aria-labelledby="getting-started">
      <div className="row between">
        <h2 id="getting-started">Getting started</h2>
        <IconButton label="Dismiss the checklist" onClick={onHide}>
          <X size={17} aria-hidden />
        </IconButton>
      </div>
      <ol className="plain-list">
        {STEPS.map(({ id, label, link }) => (
          <li key={id} className={completed[id] ? 'done' : undefined}>
            {completed[id] ? <CircleCheck size={18} aria-hidden /> : <Circle size={18} aria-hidden />}
            <Link {...link} onClick={id === 'conversation' ? onAsk : undefined}>
              {label}
            </Link>
            <span className="hidden">{completed[id] ? 'done' : 'not done yet'}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
