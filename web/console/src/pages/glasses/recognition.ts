/** The browser's speech recognition, if it has one. TypeScript has no types for it yet. */
import { useEffect, useRef, useState } from 'react';

interface Result {
  readonly isFinal: boolean;
  readonly [place: number]: { readonly transcript: string };
}

interface Recognition {
  lang: string;
  continuous: boolean;
  interimResults: boolean;
  onresult: ((event: { readonly resultIndex: number; readonly results: ArrayLike<Result> }) => void) | null;
  onend: (() => void) | null;
  onerror: ((event: { readonly error: string }) => void) | null;
  start: () => void;
  abort: () => void;
}

type Maker = new () => Recognition;

const known = window as unknown as { SpeechRecognition?: Maker; webkitSpeechRecognition?: Maker };
const Maker = known.SpeechRecognition ?? known.webkitSpeechRecognition;

export const canRecognise = Maker !== undefined;

const WHY: Record<string, string> = {
  'not-allowed': 'The browser does not let this page use the microphone.',
  'service-not-allowed': 'The browser does not let this page recognise speech.',
  'audio-capture': 'There is no microphone.',
  network: 'The browser could not reach its speech service. Type instead.',
  'language-not-supported': 'The browser does not support this language.',
};

/** Listens from `start` to `stop`; `onWords` gets interim results and then the final text. */
export function useRecognition(language: string, onWords: (text: string, isFinal: boolean) => void) {
  const [listening, setListening] = useState(false);
  const [problem, setProblem] = useState<string>();
  const current = useRef<Recognition | null>(null);
  const tell = useRef(onWords);
  useEffect(() => {
    tell.current = onWords;
  });
  const stop = () => {
    current.current?.abort();
    current.current = null;
    setListening(false);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: `stop` is new on each render and does the same
  useEffect(() => stop, [language]);
  const start = () => {
    if (Maker === undefined) return;
    const recognition = new Maker();
    recognition.lang = language;
    recognition.continuous = true;
    recognition.interimResults = true;
    recognition.onresult = ({ resultIndex, results }) => {
      for (let place = resultIndex; place < results.length; place += 1) {
        const result = results[place];
        const text = result?.[0]?.transcript.trim() ?? '';
        if (result !== undefined && text !== '') tell.current(text, result.isFinal);
      }
    };
    recognition.onerror = ({ error }) => {
      if (error !== 'no-speech' && error !== 'aborted') setProblem(WHY[error] ?? `Speech recognition failed: ${error}.`);
    };
    recognition.onend = () => {
      if (current.current === recognition) stop();
    };
    current.current = recognition;
    setProblem(undefined);
    setListening(true);
    recognition.start();
  };
  return { listening, problem, start, stop };
}
