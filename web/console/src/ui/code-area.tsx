/** A text area for JSON with line numbers; an invalid line is marked. */
import { useRef } from 'react';
import { TextArea } from './form';

interface Props {
  value: string;
  onChange: (value: string) => void;
  /** The invalid line. */
  wrongLine?: number | undefined;
  rows?: number;
}

const MOST_NUMBERS = 2_000;

export function CodeArea({ value, onChange, wrongLine, rows }: Props) {
  const numbers = useRef<HTMLDivElement>(null);
  const count = Math.min(value.split('\n').length, MOST_NUMBERS);
  return (
    <div className="code-area">
      <div className="code-area-lines" ref={numbers} aria-hidden>
        {Array.from({ length: count }, (_, place) => (
          <span key={place} className={place + 1 === wrongLine ? 'wrong' : undefined}>
            {place + 1}
          </span>
        ))}
      </div>
      <TextArea
        code
        wrap="off"
        rows={rows ?? Math.min(30, Math.max(8, count + 1))}
        value={value}
        onChange={onChange}
        autoCapitalize="off"
        autoComplete="off"
        onScroll={(event) => {
          if (numbers.current !== null) numbers.current.scrollTop = event.currentTarget.scrollTop;
        }}
      />
    </div>
  );
}
