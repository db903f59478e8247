/** The input field: Enter sends, Shift+Enter starts a new line. */
import { useQuery } from '@tanstack/react-query';
import { ArrowUp, Square } from 'lucide-react';
import { useEffect, useState, type RefObject } from 'react';
import { api, responseData } from '../../api/client';
import { Select } from '../../ui/form';

export const modelsQuery = { queryKey: ['models'], queryFn: () => responseData(api.GET('/api/models')), staleTime: 30_000 };
const MAX_CHARS = 100_000;

interface Props {
  field: RefObject<HTMLTextAreaElement | null>;
  busy: boolean;
  model: string | null;
  onModel: (model: string | null) => void;
  /** Whether the message was sent. */
  onSend: (text: string) => Promise<boolean>;
  onStop: () => void;
}

export function Composer({ field, busy, model, onModel, onSend, onStop }: Props) {
  const [text, setText] = useState('');
  const [sending, setSending] = useState(false);
  useEffect(() => field.current?.focus({ preventScroll: true }), [field]);
  async function send() {
    if (busy || sending || text.trim() === '') return;
    setSending(true);
    // Keep the input if it was not sent, or if the user typed meanwhile.
    const begun = await onSend(text.trim());
    if (begun) setText((now) => (now === text ? '' : now));
    setSending(false);
  }
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        ref={field}
        aria-label="Message"
        placeholder="Ask a question or describe a task"
        rows={1}
        maxLength={MAX_CHARS}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          void send();
        }}
      />
      <div className="composer-foot">
        <ModelPicker model={model} onModel={onModel} />
        {busy ? (
          <button type="button" className="send stop" onClick={onStop} aria-label="Stop" title="Stop">
            <Square size={16} aria-hidden fill="currentColor" />
          </button>
        ) : (
          <button type="submit" className="send" disabled={text.trim() === ''} aria-label="Send" title="Send">
            <ArrowUp size={18} aria-hidden />
          </button>
        )}
      </div>
    </form>
  );
}

function ModelPicker({ model, onModel }: Pick<Props, 'model' | 'onModel'>) {
  const { data: found } = useQuery(modelsQuery);
  const names = found?.models.map(({ name }) => name).slice(0, 200) ?? [];
  const known = model === null || names.includes(model) ? names : [model, ...names];
  const standard = found?.default ?? null;
  const options = [
    { value: '', label: standard === null ? 'Default model' : `Default: ${standard}` },
    ...known.map((name) => ({ value: name, label: name })),
  ];
  return <Select aria-label="Model" value={model ?? ''} onChange={(value) => onModel(value === '' ? null : value)} options={options} />;
}
