/** One message: text, reasoning, calls and notices, and its actions. */
import { isToolUIPart } from 'ai';
import type { ToolData, ToolyardMessage } from '@toolyard/client';
import { Check, Copy, Pencil, RotateCcw } from 'lucide-react';
import { Fragment, memo, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { Button, IconButton } from '../../ui/button';
import { copy } from '../../ui/code';
import { Notice } from '../../ui/feedback';
import { TextArea } from '../../ui/form';
import { approvalRef, approvalsByCall, requestedApproval } from './approval-data';
import { InlineApproval } from './inline-approval';
import { MarkdownText } from './markdown';
import type { CallNotes } from './notes';
import { ToolRow } from './tool-row';

interface Props {
  message: ToolyardMessage;
  notes: CallNotes;
  /** Whether it is the last message: only the last answer can be retried, because later messages would be removed. */
  last: boolean;
  /** Whether anything is in progress; then nothing can be changed. */
  busy: boolean;
  onEdit: (id: string, text: string) => void;
  onRetry: (id: string) => void;
}

export const Message = memo(function Message({ message, notes, last, busy, onEdit, onRetry }: Props) {
  const [editing, setEditing] = useState(false);
  const article = useRef<HTMLElement>(null);
  const cancelled = useRef(false);
  useEffect(() => {
    if (editing || !cancelled.current) return;
    cancelled.current = false;
    article.current?.querySelector<HTMLElement>('[aria-label="Edit"]')?.focus();
  }, [editing]);
  const mine = message.role === 'user';
  const live = busy && last && !mine;
  const text = message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n');
  if (editing)
    return (
      <Edit
        text={text}
        onCancel={() => {
          cancelled.current = true;
          setEditing(false);
        }}
        onSend={(next) => {
          setEditing(false);
          onEdit(message.id, next);
        }}
      />
    );
  return (
    <article ref={article} className={mine ? 'message mine' : 'message'} aria-label={mine ? 'You' : 'Assistant'}>
      {mine ? <p className="said">{text}</p> : <Parts message={message} notes={notes} live={live} />}
      {!live && (
        <div className="message-actions">
          {text !== '' && <CopyButton text={text} />}
          {mine && (
            <IconButton label="Edit" disabled={busy} onClick={() => setEditing(true)}>
              <Pencil size={16} aria-hidden />
            </IconButton>
          )}
          {!mine && last && (
            <IconButton label="Retry" disabled={busy} onClick={() => onRetry(message.id)}>
              <RotateCcw size={16} aria-hidden />
            </IconButton>
          )}
        </div>
      )}
    </article>
  );
});

function CopyButton({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <IconButton label={copied ? 'Copied' : 'Copy'} onClick={() => void copy(text).then(setCopied)}>
      {copied ? <Check size={16} aria-hidden /> : <Copy size={16} aria-hidden />}
    </IconButton>
  );
}

function Parts({ message, notes, live }: Pick<Props, 'message' | 'notes'> & { live: boolean }) {
  const durations = useSyncExternalStore(notes.subscribe, notes.durations);
  const progress = useSyncExternalStore(notes.subscribe, notes.progress);
  const signIns = useSyncExternalStore(notes.subscribe, notes.signIns);
  const about = new Map<string, ToolData>();
  for (const part of message.parts) if (part.type === 'data-tool') about.set(part.data.toolCallId, part.data);
  const waiting = approvalsByCall(message.parts);
  const calls = new Set(message.parts.flatMap((part) => (isToolUIPart(part) ? [part.toolCallId] : [])));
  return message.parts.map((part, place) => {
    if (part.type === 'text') return part.text === '' ? null : <MarkdownText key={place} text={part.text} />;
    if (part.type === 'data-notice')
      return (
        <Notice key={place} kind="warn">
          {part.data.message}
        </Notice>
      );
    if (part.type === 'reasoning') return part.text === '' ? null : <Thoughts key={place} text={part.text} />;
    const ref = approvalRef(part);
    // Shown with its call, if that is part of the message.
    if (ref !== null)
      return ref.toolCallId !== undefined && calls.has(ref.toolCallId) ? null : <InlineApproval key={place} id={ref.id} live={live} />;
    if (!isToolUIPart(part)) return null;
    const id = part.toolCallId;
    const requested = requestedApproval(part);
    const isOpen = part.state !== 'output-available' && part.state !== 'output-error' && part.state !== 'output-denied';
    const approval = waiting.get(id) ?? requested;
    return (
      <Fragment key={id}>
        <ToolRow part={part} about={about.get(id)} progress={progress.get(id)} signIn={signIns.get(id)} ms={durations[id]} live={live} />
        {isOpen && approval !== undefined && <InlineApproval id={approval} requested={requested} live={live} />}
      </Fragment>
    );
  });
}

function Thoughts({ text }: { text: string }) {
  return (
    <details className="thoughts">
      <summary>Reasoning</summary>
      <p>{text}</p>
    </details>
  );
}

function Edit({ text, onSend, onCancel }: { text: string; onSend: (text: string) => void; onCancel: () => void }) {
  const [now, setNow] = useState(text);
  return (
    <form
      className="message edit"
      onSubmit={(event) => {
        event.preventDefault();
        onSend(now.trim());
      }}
    >
      <TextArea aria-label="Edit the message" value={now} onChange={setNow} rows={3} autoFocus />
      <p className="hint">The messages after this one will be replaced.</p>
      <div className="dialog-actions">
        <Button onClick={onCancel}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={now.trim() === ''}>
          Send
        </Button>
      </div>
    </form>
  );
}
