/** What apps say, aloud: by the browser's voice where the words are known, else the sound itself where it is ours. */
import { plain } from '../../api/client';
import { refusedBy } from '../../api/error';
import { speechAt, type Speech } from './tts-address';

export interface Sound {
  /** Whose sound it is, by package. */
  app: string;
  url: string;
  text: string | null;
  volume: number;
  language: string;
  /** Whether the server can make speech of words. */
  serverSpeaks: boolean;
}

export interface Played {
  heard: boolean;
  durationMs: number;
  error?: string;
}

/** A voice that does not begin within this time never will: some browsers have none and do not say so. */
const BEGIN_MS = 2_000;
const LONGEST_MS = 60_000;

/** How to end each sound, and whose it is. */
const stops = new Map<() => void, string>();

/** Ends what an app has said, or all that is being said. */
export function silence(app?: string): void {
  for (const [stop, whose] of [...stops]) if (app === undefined || whose === app) stop();
}

export async function play(sound: Sound): Promise<Played> {
  const from = performance.now();
  const took = () => Math.round(performance.now() - from);
  if (sound.text !== null && (await speak(sound, sound.text))) return { heard: true, durationMs: took() };
  const speech = sound.text !== null && !sound.serverSpeaks ? null : speechAt(sound.url, window.location.origin);
  if (speech === null) {
    // The words were shown, so the wearer has them; a sound that is not the server's own is never fetched by the console.
    return sound.text !== null
      ? { heard: false, durationMs: took() }
      : { heard: false, durationMs: 0, error: 'the sound is not of this server' };
  }
  try {
    await playFile(speech, sound);
    return { heard: true, durationMs: took() };
  } catch {
    return sound.text !== null
      ? { heard: false, durationMs: took() }
      : { heard: false, durationMs: took(), error: 'the sound cannot be played' };
  }
}

/** False where the browser has no voice. */
function speak({ app, volume, language }: Sound, text: string): Promise<boolean> {
  const voice: SpeechSynthesis | undefined = window.speechSynthesis;
  if (voice === undefined || typeof SpeechSynthesisUtterance === 'undefined') return Promise.resolve(false);
  return new Promise((resolve) => {
    const utterance = new SpeechSynthesisUtterance(text);
    utterance.volume = volume;
    utterance.lang = language;
    const begin = setTimeout(() => end(false), BEGIN_MS);
    const longest = setTimeout(() => end(true), LONGEST_MS);
    const stop = () => end(true);
    function end(spoken: boolean) {
      clearTimeout(begin);
      clearTimeout(longest);
      stops.delete(stop);
      utterance.onend = utterance.onerror = utterance.onstart = null;
      voice?.cancel();
      resolve(spoken);
    }
    stops.set(stop, app);
    utterance.onstart = () => clearTimeout(begin);
    utterance.onend = () => end(true);
    utterance.onerror = () => end(false);
    voice.speak(utterance);
  });
}

/** Without a signature the credential goes along, which an audio element cannot send. */
async function fetched({ path, signed }: Speech): Promise<Response> {
  if (!signed) return plain(path);
  const response = await fetch(path, { credentials: 'omit' });
  if (!response.ok) throw await refusedBy(response);
  return response;
}

async function playFile(speech: Speech, { app, volume }: Sound): Promise<void> {
  const response = await fetched(speech);
  const url = URL.createObjectURL(await response.blob());
  try {
    await new Promise<void>((resolve, reject) => {
      const audio = new Audio(url);
      audio.volume = volume;
      const stop = () => {
        audio.pause();
        end();
      };
      const longest = setTimeout(stop, LONGEST_MS);
      function end(error?: unknown) {
        clearTimeout(longest);
        stops.delete(stop);
        if (error === undefined) resolve();
        else reject(error instanceof Error ? error : new Error('not played'));
      }
      stops.set(stop, app);
      audio.onended = () => end();
      audio.onerror = () => end(new Error('not played'));
      audio.play().catch(end);
    });
  } finally {
    URL.revokeObjectURL(url);
  }
}
