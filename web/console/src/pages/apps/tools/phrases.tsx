import { Plus, X } from 'lucide-react';
import { useId, useRef } from 'react';
import { Button, IconButton } from '../../../ui/button';
import { Check, Input } from '../../../ui/form';
import type { Phrase } from './draft';
import { newKey } from './json';

const MOST_PHRASES = 128;

interface Props {
  phrases: Phrase[];
  byLanguage: boolean;
  error?: string | undefined;
  onChange: (phrases: Phrase[], byLanguage: boolean) => void;
}

/** Phrases that make an assistant consider the tool: one list, or one for each language. */
export function Phrases({ phrases, byLanguage, error, onChange }: Props) {
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  const set = (key: string, change: Partial<Phrase>) =>
    onChange(
      phrases.map((one) => (one.key === key ? { ...one, ...change } : one)),
      byLanguage,
    );
  function add() {
    onChange([...phrases, { key: newKey(), text: '', language: byLanguage ? (phrases.at(-1)?.language ?? 'en') : '' }], byLanguage);
    // After the new row is rendered.
    requestAnimationFrame(() => list.current?.querySelector<HTMLInputElement>('li:last-child .phrase-text')?.focus());
  }
  return (
    <fieldset className="phrases" aria-describedby={error === undefined ? undefined : `${id}-error`}>
      <legend>Activation phrases</legend>
      <p className="hint">What a user says when they want this tool, such as “remind me to”.</p>
      {phrases.length > 0 && (
        <ul className="plain-list" ref={list}>
          {phrases.slice(0, MOST_PHRASES).map((phrase, place) => (
            <li key={phrase.key}>
              {byLanguage && (
                <div className="phrase-language">
                  <Input
                    aria-label={`Language of phrase ${place + 1}`}
                    value={phrase.language}
                    placeholder="en"
                    maxLength={35}
                    onChange={(language) => set(phrase.key, { language })}
                  />
                </div>
              )}
              <input
                className="input phrase-text"
                aria-label={`Phrase ${place + 1}`}
                value={phrase.text}
                lang={phrase.language || undefined}
                onChange={(event) => set(phrase.key, { text: event.target.value })}
                onKeyDown={(event) => {
                  if (event.key !== 'Enter') return;
                  event.preventDefault();
                  if (phrase.text.trim() !== '') add();
                }}
              />
              <IconButton
                label={`Remove phrase ${place + 1}`}
                onClick={() =>
                  onChange(
                    phrases.filter((one) => one.key !== phrase.key),
                    byLanguage,
                  )
                }
              >
                <X size={16} aria-hidden />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
      {error !== undefined && (
        <p className="error-text" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
      <div className="row phrases-actions">
        <Button small icon={<Plus size={15} aria-hidden />} disabled={phrases.length >= MOST_PHRASES} onClick={add}>
          Add a phrase
        </Button>
        <Check
          label="By language"
          checked={byLanguage}
          onChange={(on) =>
            onChange(
              phrases.map((one) => (on && one.language === '' ? { ...one, language: 'en' } : one)),
              on,
            )
          }
        />
      </div>
    </fieldset>
  );
}
