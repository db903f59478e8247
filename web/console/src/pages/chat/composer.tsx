/** Where the user writes: Enter sends, Shift and Enter begins a new line. */
import { useQuery } from '@tanstack/react-query';
import { ArrowUp, Square } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { api, data } from '../../api/client';
import { Select } from '../../ui/form';

export const modelsQuery = { queryKey: ['models'], queryFn: () => data(api.GET('/api/models')), staleTime: 30_000 };
const MAX_CHARS = 100_000;

interface Props {
  busy: boolean;
  model: string | null;
  onModel: (model: string | null) => void;
  onSend: (text: string) => void;
  onStop: () => void;
}

export function Composer({ busy, model, onModel, onSend, onStop }: Props) {
  const [text, setText] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus({ preventScroll: true }), []);
  function send() {
    if (busy || text.trim() === '') return;
    onSend(text.trim());
    setText('');
  }
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        ref={field}
        aria-label="Message"
        placeholder="Ask anything, or have something done"
        rows={1}
        maxLength={MAX_CHARS}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          send();
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
  const options = [{ value: '', label: standard === null ? 'Default model' : `Default: ${standard}` }, ...known.map((name) => ({ value: name, label: name }))];
  return <Select aria-label="Model" value={model ?? ''} onChange={(value) => onModel(value === '' ? null : value)} options={options} />;
}
