/** Conversations with the assistant. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { useMe } from '../../api/queries';
import { randomId } from '../../api/random-id';
import { useSession } from '../../api/session';
import { syncBrowserTools } from '../../plugins/manager';
import { Dialog } from '../../ui/dialog';
import { Celebration } from './celebration';
import { closeChatSession, getChatSession } from './chats';
import { Conversation } from './conversation';
import { ConversationList } from './conversation-list';
import { deleteConversation, useConversations } from './conversations';
import { Head } from './head';
import './style.css';

export function ChatPage() {
  const me = useMe();
  const user = me.userId ?? me.name;
  const { id } = useSearch({ from: '/chat' });
  const navigate = useNavigate();
  const conversations = useConversations(user);
  const [listed, setListed] = useState(false);
  // A new conversation gets its URL with the first message.
  const [fresh, setFresh] = useState(randomId);
  const current = id ?? fresh;
  // Another session, even of the same user, does not keep the earlier chats.
  const session = useSession();
  const talk = useMemo(() => getChatSession(user, current), [user, current, session]);
  useEffect(() => {
    talk.isShown = true;
    return () => {
      talk.isShown = false;
    };
  }, [talk]);
  const summary = conversations.find((one) => one.id === current);
  const begin = useCallback(() => {
    if (id !== undefined) return;
    void navigate({ to: '/chat', search: { id: fresh }, replace: true });
  }, [id, fresh, navigate]);
  useEffect(() => {
    if (id === fresh) setFresh(randomId());
  }, [id, fresh]);
  const title = summary?.title ?? 'Chat';
  useEffect(() => {
    document.title = `${title} · Toolyard`;
  }, [title]);
  useEffect(() => void syncBrowserTools(), []);
  async function remove() {
    closeChatSession(current, true);
    deleteConversation(user, current);
    await navigate({ to: '/chat', search: {}, replace: true });
  }
  return (
    <div className="chat-page">
      <aside className="chat-side">
        <ConversationList conversations={conversations} current={id} />
      </aside>
      <section className="chat-main" aria-label="Conversation">
        <Head talk={talk} summary={summary} onList={() => setListed(true)} onDelete={() => void remove()} />
        <Conversation key={talk.id} talk={talk} onBegin={begin} />
      </section>
      <Celebration />
      {listed && (
        <Dialog title="Conversations" onClose={() => setListed(false)}>
          <ConversationList conversations={conversations} current={id} onPick={() => setListed(false)} />
        </Dialog>
      )}
    </div>
  );
}
