/** Plays what apps say: with the browser's voice if the text is known, otherwise the audio if it comes from this server. */
import { fetchRaw } from '../../api/client';
import { parseErrorResponse } from '../../api/error';
import { speechAt, type Speech } from './tts-address';

export interface Sound {
  /** The package of the app. */
  app: string;
  url: string;
  text: string | null;
  volume: number;
  language: string;
  /** Whether the server can synthesize speech. */
  serverSpeaks: boolean;
}

export interface PlaybackOutcome {
  wasPlayed: boolean;
  durationMs: number;
  error?: string;
}

/** A voice that does not start within this time never will: some browsers have none and do not report it. */
const BEGIN_MS = 2_000;
const LONGEST_MS = 60_000;

/** How to stop each sound, and its app. */
const stops = new Map<() => void, string>();

/** Stops the sounds of one app, or all sounds. */
export function stopSounds(app?: string): void {
  for (const [stop, whose] of [...stops]) if (app === undefined || whose === app) stop();
}

export async function play(sound: Sound): Promise<PlaybackOutcome> {
  const from = performance.now();
  const took = () => Math.round(performance.now() - from);
  if (sound.text !== null && (await speak(sound, sound.text))) return { wasPlayed: true, durationMs: took() };
  const speech = sound.text !== null && !sound.serverSpeaks ? null : speechAt(sound.url, window.location.origin);
  if (speech === null) {
    // The text was shown, so the wearer has it. The console never fetches audio from other servers.
    return sound.text !== null
      ? { wasPlayed: false, durationMs: took() }
      : { wasPlayed: false, durationMs: 0, error: 'the audio is not from this server' };
  }
  try {
    await playFile(speech, sound);
    return { wasPlayed: true, durationMs: took() };
  } catch {
    return sound.text !== null
      ? { wasPlayed: false, durationMs: took() }
      : { wasPlayed: false, durationMs: took(), error: 'the audio cannot be played' };
  }
}

/** False if the browser has no voice. */
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

/** Unsigned URLs need the credential, which an audio element cannot send. */
async function fetched({ path, signed }: Speech): Promise<Response> {
  if (!signed) return fetchRaw(path);
  const response = await fetch(path, { credentials: 'omit' });
  if (!response.ok) throw await parseErrorResponse(response);
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
