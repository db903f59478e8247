import { MessageSquarePlus } from 'lucide-react';
import { Link } from '@tanstack/react-router';
import { Ago } from '../../ui/time';
import type { Summary } from './conversations';

interface Props {
  conversations: readonly Summary[];
  current: string | undefined;
  onPick?: () => void;
}

export function ConversationList({ conversations, current, onPick }: Props) {
  return (
    <nav className="conversation-list" aria-label="Conversations">
      <Link to="/chat" search={{}} className="button primary new-chat" {...(onPick && { onClick: onPick })}>
        <MessageSquarePlus size={18} aria-hidden />
        New conversation
      </Link>
      {conversations.length === 0 && <p className="muted">Conversations are stored in this browser only.</p>}
      <ul className="plain-list">
        {conversations.map(({ id, title, updatedAt }) => (
          <li key={id}>
            <Link
              to="/chat"
              search={{ id }}
              className={id === current ? 'conversation here' : 'conversation'}
              {...(id === current && { 'aria-current': 'true' as const })}
              {...(onPick && { onClick: onPick })}
            >
              <span className="conversation-title">{title}</span>
              <span className="muted">
                <Ago at={updatedAt} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
