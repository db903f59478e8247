/** The messages of one conversation, and where the next one is written. */
import { useChat } from '@ai-sdk/react';
import { CutError } from '@toolyard/client';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { meQuery, queryClient } from '../../api/queries';
import { Button } from '../../ui/button';
import { Notice } from '../../ui/feedback';
import { toastError } from '../../ui/toast';
import type { Talk } from './chats';
import { Composer } from './composer';
import { Message } from './message';
import { NoModel } from './no-model';
import { problemOf } from './problem';
import { Welcome } from './welcome';

const DRAW_EVERY_MS = 50;
/** Of a long conversation; the rest is shown on demand. */
const SHOWN_AT_ONCE = 60;
const NEAR_END_PX = 120;

export function Conversation({ talk, onBegin }: { talk: Talk; onBegin: () => void }) {
  const { messages, status, error } = useChat({ chat: talk.chat, throttle: DRAW_EVERY_MS });
  const [model, setModel] = useState(talk.model);
  const [shown, setShown] = useState(SHOWN_AT_ONCE);
  const busy = status === 'submitted' || status === 'streaming';
  const scroll = useStickyEnd(messages);
  const field = useRef<HTMLTextAreaElement>(null);
  const send = useCallback(
    async (text: string, messageId?: string): Promise<boolean> => {
      // What was pressed may go away now; the next thing to do is to write.
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
    // The server ends its streams with the token: whether that was it is asked, and the rest is heard after the sign-in.
    if (error instanceof CutError) void queryClient.invalidateQueries({ queryKey: meQuery.queryKey });
  }, [error]);
  const hiddenCount = Math.max(0, messages.length - shown);
  return (
    <>
      <div className="chat-scroll" ref={scroll} tabIndex={0} role="region" aria-label="Messages">
        <div className="chat-column">
          {messages.length === 0 && !busy && <Welcome onAsk={(text) => void send(text)} />}
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
              <p>The answer was cut off, and the server does not have the rest of it any more.</p>
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
    </>
  );
}

function Problem({ error, talk }: { error: Error; talk: Talk }) {
  const { text, details, helps } = problemOf(error, talk);
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
          {helps === 'resume' ? 'Hear the rest' : 'Try again'}
        </Button>
      </div>
    </div>
  );
}

/** Stays at the end while something is added, unless the reader went up. */
function useStickyEnd(messages: readonly unknown[]) {
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
  }, [messages]);
  return scroll;
}
