/** The title of a conversation, and its actions. */
import { Download, List, Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button, IconButton } from '../../ui/button';
import { Confirm, Dialog } from '../../ui/dialog';
import { Field, Input } from '../../ui/form';
import { toast } from '../../ui/toast';
import type { ChatSession } from './chats';
import { renameConversation, type Summary } from './conversations';

interface Props {
  talk: ChatSession;
  summary: Summary | undefined;
  onList: () => void;
  onDelete: () => void;
}

export function Head({ talk, summary, onList, onDelete }: Props) {
  const [asked, setAsked] = useState<'rename' | 'delete' | null>(null);
  const close = () => setAsked(null);
  return (
    <header className="chat-head">
      <span className="only-phone">
        <IconButton label="Conversations" onClick={onList}>
          <List size={18} aria-hidden />
        </IconButton>
      </span>
      <h1>{summary?.title ?? 'New conversation'}</h1>
      {summary !== undefined && (
        <div className="chat-actions">
          <IconButton label="Rename" onClick={() => setAsked('rename')}>
            <Pencil size={17} aria-hidden />
          </IconButton>
          <IconButton label="Export as JSON" onClick={() => exportJson(talk, summary)}>
            <Download size={17} aria-hidden />
          </IconButton>
          <IconButton label="Delete" onClick={() => setAsked('delete')}>
            <Trash2 size={17} aria-hidden />
          </IconButton>
        </div>
      )}
      {asked === 'rename' && summary !== undefined && (
        <Rename
          title={summary.title}
          onClose={close}
          onName={(name) => {
            rename(talk, name);
            close();
          }}
        />
      )}
      {asked === 'delete' && (
        <Confirm
          title="Delete this conversation?"
          action="Delete"
          danger
          onClose={close}
          onConfirm={() => {
            close();
            onDelete();
          }}
        >
          <p>It is stored in this browser only and cannot be restored.</p>
        </Confirm>
      )}
    </header>
  );
}

function rename(talk: ChatSession, name: string): void {
  try {
    renameConversation(talk.user, talk.id, name);
  } catch {
    toast('The storage of this browser is full. The name was not saved.', true);
  }
}

function Rename({ title, onName, onClose }: { title: string; onName: (name: string) => void; onClose: () => void }) {
  const [name, setName] = useState(title);
  return (
    <Dialog title="Rename" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() !== '') onName(name.trim());
        }}
      >
        <Field label="Name of the conversation">
          <Input value={name} onChange={setName} maxLength={80} autoFocus />
        </Field>
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={name.trim() === ''}>
            Rename
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function exportJson(talk: ChatSession, { title, createdAt, updatedAt }: Summary): void {
  const whole = { type: 'toolyard/conversation', version: 1, title, createdAt, updatedAt, messages: talk.chat.messages };
  const url = URL.createObjectURL(new Blob([JSON.stringify(whole, null, 2)], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `${title.replace(/[^\p{L}\p{N}]+/gu, '-').slice(0, 60) || 'conversation'}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
