/** What apps say, aloud: by the browser's voice where the words are known, else the sound itself where it is ours. */
import { plain } from '../../api/client';

export interface Sound {
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

const stops = new Set<() => void>();

/** Ends all that is being said. */
export function silence(): void {
  for (const stop of [...stops]) stop();
}

export async function play(sound: Sound): Promise<Played> {
  const from = performance.now();
  const took = () => Math.round(performance.now() - from);
  if (sound.text !== null && (await speak(sound, sound.text))) return { heard: true, durationMs: took() };
  const url = sound.text !== null && !sound.serverSpeaks ? null : ownPath(sound.url);
  if (url === null) {
    // The words were shown, so the wearer has them; a sound on another host is never fetched by the console.
    return sound.text !== null ? { heard: false, durationMs: took() } : { heard: false, durationMs: 0, error: 'the sound is on another host' };
  }
  try {
    await playFile(url, sound.volume);
    return { heard: true, durationMs: took() };
  } catch {
    return sound.text !== null ? { heard: false, durationMs: took() } : { heard: false, durationMs: took(), error: 'the sound cannot be played' };
  }
}

/** False where the browser has no voice. */
function speak({ volume, language }: Sound, text: string): Promise<boolean> {
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
    stops.add(stop);
    utterance.onstart = () => clearTimeout(begin);
    utterance.onend = () => end(true);
    utterance.onerror = () => end(false);
    voice.speak(utterance);
  });
}

/** With the credential, which an audio element cannot send. */
async function playFile(path: string, volume: number): Promise<void> {
  const response = await plain(path);
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
      stops.add(stop);
      audio.onended = () => end();
      audio.onerror = () => end(new Error('not played'));
      audio.play().catch(end);
    });
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** The path of an address that is this server's own; the host that the server knows itself by may differ from ours. */
function ownPath(address: string): string | null {
  try {
    const url = new URL(address, window.location.origin);
    const own = url.host === window.location.host || url.pathname === '/api/tts';
    return own ? `${url.pathname}${url.search}` : null;
  } catch {
    return null;
  }
}
