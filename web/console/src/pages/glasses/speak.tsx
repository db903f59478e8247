/** Speech input: with the microphone if the browser supports speech recognition, or typed. */
import { Mic, MicOff, Send } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Button } from '../../ui/button';
import { Field, Input, Select } from '../../ui/form';
import { Badge, Notice } from '../../ui/feedback';
import { Card } from '../../ui/page';
import { language as lastLanguage, logEvent, send, setLanguage } from './link';
import { canRecognise, useRecognition } from './recognition';
import { transcription } from './wire';

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

/** Interval of interim results, like that of a speech recognizer. */
const GUESS_MS = 300;
const MAX_SAID = 2_000;

export function Speak({ on, listened }: { on: boolean; listened: boolean }) {
  const [draft, setDraft] = useState('');
  const [language, choose] = useState(lastLanguage);
  const guess = useRef<ReturnType<typeof setTimeout>>(undefined);
  const recognition = useRecognition(language, sendSpeech);
  const { stop } = recognition;
  useEffect(() => () => clearTimeout(guess.current), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `stop` is new on each render and does the same
  useEffect(() => {
    if (!on) stop();
  }, [on]);

  function sendSpeech(text: string, isFinal: boolean) {
    clearTimeout(guess.current);
    if (!send(transcription(text, isFinal, language))) return;
    if (isFinal) logEvent('you', `said: ${text}`);
    setDraft(isFinal ? '' : text);
  }
  function type(text: string) {
    setDraft(text);
    clearTimeout(guess.current);
    if (text.trim() !== '') guess.current = setTimeout(() => send(transcription(text.trim(), false, language)), GUESS_MS);
  }
  return (
    <Card
      title="Speak"
      actions={<Badge kind={listened ? 'good' : 'plain'}>{listened ? 'An app is listening' : 'No app is listening'}</Badge>}
    >
      <form
        className="speak"
        onSubmit={(event) => {
          event.preventDefault();
          if (draft.trim() !== '') sendSpeech(draft.trim(), true);
        }}
      >
        <Field label="What you say" hint="Interim text is sent while you type, as from a microphone. Press Enter to send the final text.">
          <Input
            value={draft}
            onChange={type}
            maxLength={MAX_SAID}
            disabled={!on}
            placeholder="hey toolyard, what is on my list?"
            autoComplete="off"
          />
        </Field>
        <div className="row">
          <Button type="submit" kind="primary" disabled={!on || draft.trim() === ''} icon={<Send size={16} aria-hidden />}>
            {' '}
            Say
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
      {!canRecognise && <p className="hint">This browser does not support speech recognition. Type instead.</p>}
      {recognition.problem !== undefined && <Notice kind="warn">{recognition.problem}</Notice>}
    </Card>
  );
}
