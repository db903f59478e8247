/** The messages of one conversation, and the input field. */
import { useChat } from '@ai-sdk/react';
import { TruncatedError } from '@toolyard/client';
import { useCallback, useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from 'react';
import { meQuery, queryClient } from '../../api/queries';
import { Button } from '../../ui/button';
import { Notice } from '../../ui/feedback';
import { toastError } from '../../ui/toast';
import type { ChatSession } from './chats';
import { Composer } from './composer';
import { GettingStarted } from './getting-started';
import { RespondContext } from './inline-approval';
import { Message } from './message';
import { NoModel } from './no-model';
import { describeProblem } from './problem';
import { Welcome } from './welcome';

const DRAW_EVERY_MS = 50;
/** Messages that are shown of a long conversation; the rest on demand. */
const SHOWN_AT_ONCE = 60;
const NEAR_END_PX = 120;

export function Conversation({ talk, onBegin }: { talk: ChatSession; onBegin: () => void }) {
  const { messages, status, error } = useChat({ chat: talk.chat, throttle: DRAW_EVERY_MS });
  const [model, setModel] = useState(talk.model);
  const [shown, setShown] = useState(SHOWN_AT_ONCE);
  const busy = status === 'submitted' || status === 'streaming';
  const signIns = useSyncExternalStore(talk.notes.subscribe, talk.notes.signIns);
  const scroll = useStickyEnd(messages, signIns);
  const field = useRef<HTMLTextAreaElement>(null);
  const send = useCallback(
    async (text: string, messageId?: string): Promise<boolean> => {
      // The pressed button may disappear, so focus the input field.
      field.current?.focus({ preventScroll: true });
      const begun = await talk.send(text, messageId).catch((error: unknown) => {
        toastError(error);
        return false;
      });
      if (begun && talk.isShown) onBegin();
      return begun;
    },
    [talk, onBegin],
  );
  const edit = useCallback((id: string, text: string) => void send(text, id), [send]);
  const retry = useCallback(
    (id?: string) => {
      field.current?.focus({ preventScroll: true });
      void talk.retry(id).catch(toastError);
    },
    [talk],
  );
  useEffect(() => {
    // The server closes its streams when the token expires. Check whether that is the reason; the rest is read after the sign-in.
    if (error instanceof TruncatedError) void queryClient.invalidateQueries({ queryKey: meQuery.queryKey });
  }, [error]);
  const respond = useCallback(
    async (id: string, approved: boolean, reason?: string) => {
      await talk.chat.addToolApprovalResponse({ id, approved, ...(reason !== undefined && { reason }) });
      talk.save();
    },
    [talk],
  );
  const hiddenCount = Math.max(0, messages.length - shown);
  return (
    <RespondContext value={respond}>
      <div className="chat-scroll" ref={scroll} tabIndex={0} role="region" aria-label="Messages">
        <div className="chat-column">
          {messages.length === 0 && !busy && (
            <>
              <Welcome onAsk={(text) => void send(text)} />
              <GettingStarted onAsk={() => field.current?.focus()} />
            </>
          )}
          {hiddenCount > 0 && (
            <Button small onClick={() => setShown(shown + SHOWN_AT_ONCE)}>
              Show {Math.min(hiddenCount, SHOWN_AT_ONCE)} earlier messages
            </Button>
          )}
          <ol className="messages plain-list">
            {messages.slice(hiddenCount).map((message, place, list) => (
              <li key={message.id}>
                <Message message={message} notes={talk.notes} busy={busy} last={place === list.length - 1} onEdit={edit} onRetry={retry} />
              </li>
            ))}
          </ol>
          {busy && (
            <p className="thinking">
              <span className="dots" aria-hidden>
                <i />
                <i />
                <i />
              </span>
            </p>
          )}
          {error !== undefined && <Problem error={error} talk={talk} />}
          {!busy && error === undefined && talk.wasCut && (
            <Notice kind="warn">
              <p>The answer was interrupted, and the server no longer has the rest.</p>
              <Button small onClick={() => retry()}>
                Ask again
              </Button>
            </Notice>
          )}
          <NoModel />
          <p className="hidden" role="status">
            {busy ? 'The assistant is answering.' : messages.at(-1)?.role === 'assistant' ? 'The answer is complete.' : ''}
          </p>
        </div>
      </div>
      <div className="chat-column">
        <Composer
          field={field}
          busy={busy}
          model={model}
          onModel={(name) => {
            talk.model = name;
            setModel(name);
          }}
          onSend={send}
          onStop={() => {
            field.current?.focus({ preventScroll: true });
            void talk.stop();
          }}
        />
      </div>
    </RespondContext>
  );
}

function Problem({ error, talk }: { error: Error; talk: ChatSession }) {
  const { text, details, helps } = describeProblem(error, talk);
  return (
    <div className="error-box" role="alert">
      <div>
        <p>{text}</p>
        {details.length > 0 && (
          <ul>
            {details.slice(0, 10).map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        )}
        <Button small onClick={() => void (helps === 'resume' ? talk.resume() : talk.retry()).catch(toastError)}>
          {helps === 'resume' ? 'Resume' : 'Try again'}
        </Button>
      </div>
    </div>
  );
}

/** Stays scrolled to the end while content is added, unless the reader scrolled up. */
function useStickyEnd(messages: readonly unknown[], signIns: unknown) {
  const scroll = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    const element = scroll.current;
    if (element === null) return;
    const look = () => {
      atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END_PX;
    };
    element.addEventListener('scroll', look, { passive: true });
    return () => element.removeEventListener('scroll', look);
  }, []);
  useLayoutEffect(() => {
    const element = scroll.current;
    if (element !== null && atEnd.current) element.scrollTop = element.scrollHeight;
  }, [messages, signIns]);
  return scroll;
}
