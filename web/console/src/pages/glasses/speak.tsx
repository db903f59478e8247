/** Speaking to the glasses: by the microphone where the browser recognises speech, or typed. */
import { Mic, MicOff, Send } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Button } from '../../ui/button';
import { Field, Input, Select } from '../../ui/form';
import { Badge, Notice } from '../../ui/feedback';
import { Card } from '../../ui/page';
import { language as lastLanguage, note, send, setLanguage } from './link';
import { canRecognise, useRecognition } from './recognition';
import { words } from './wire';

const LANGUAGES = [
  ['en-US', 'English (US)'],
  ['en-GB', 'English (UK)'],
  ['de-DE', 'German'],
  ['fr-FR', 'French'],
  ['es-ES', 'Spanish'],
  ['it-IT', 'Italian'],
  ['pt-BR', 'Portuguese (Brazil)'],
  ['nl-NL', 'Dutch'],
  ['pl-PL', 'Polish'],
  ['tr-TR', 'Turkish'],
  ['ja-JP', 'Japanese'],
  ['ko-KR', 'Korean'],
  ['zh-CN', 'Chinese'],
].map(([value = '', label = '']) => ({ value, label }));

/** A recogniser tells its guesses about this often. */
const GUESS_MS = 300;
const MAX_SAID = 2_000;

export function Speak({ on, listened }: { on: boolean; listened: boolean }) {
  const [said, setSaid] = useState('');
  const [language, choose] = useState(lastLanguage);
  const guess = useRef<ReturnType<typeof setTimeout>>(undefined);
  const recognition = useRecognition(language, hear);
  const { stop } = recognition;
  useEffect(() => () => clearTimeout(guess.current), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `stop` is new on each render and does the same
  useEffect(() => {
    if (!on) stop();
  }, [on]);

  function hear(text: string, isFinal: boolean) {
    clearTimeout(guess.current);
    if (!send(words(text, isFinal, language))) return;
    if (isFinal) note('you', `said: ${text}`);
    setSaid(isFinal ? '' : text);
  }
  function type(text: string) {
    setSaid(text);
    clearTimeout(guess.current);
    if (text.trim() !== '') guess.current = setTimeout(() => send(words(text.trim(), false, language)), GUESS_MS);
  }
  return (
    <Card title="Speak" actions={<Badge kind={listened ? 'good' : 'plain'}>{listened ? 'An app listens' : 'No app listens'}</Badge>}>
      <form
        className="speak"
        onSubmit={(event) => {
          event.preventDefault();
          if (said.trim() !== '') hear(said.trim(), true);
        }}
      >
        <Field label="What you say" hint="Guesses go out while you type, as from a microphone; the final words with Enter.">
          <Input
            value={said}
            onChange={type}
            maxLength={MAX_SAID}
            disabled={!on}
            placeholder="hey toolyard, what is on my list?"
            autoComplete="off"
          />
        </Field>
        <div className="row">
          <Button type="submit" kind="primary" disabled={!on || said.trim() === ''} icon={<Send size={16} aria-hidden />}>
            Say it
          </Button>
          {canRecognise && (
            <Button
              disabled={!on}
              aria-pressed={recognition.listening}
              onClick={recognition.listening ? stop : recognition.start}
              icon={recognition.listening ? <MicOff size={16} aria-hidden /> : <Mic size={16} aria-hidden />}
            >
              {recognition.listening ? 'Stop listening' : 'Microphone'}
            </Button>
          )}
          <div className="grow" />
          <label className="inline-field">
            <span>Language</span>
            <Select
              value={language}
              onChange={(next) => {
                choose(next);
                setLanguage(next);
              }}
              options={LANGUAGES}
            />
          </label>
        </div>
      </form>
      {!canRecognise && <p className="hint">This browser recognises no speech, so type.</p>}
      {recognition.problem !== undefined && <Notice kind="warn">{recognition.problem}</Notice>}
    </Card>
  );
}
