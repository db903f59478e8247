/** Short messages that disappear by themselves. They are read aloud and never cover input. */
import { useSyncExternalStore } from 'react';
import { isSignedOut, errorText } from '../api/error';

interface Toast {
  id: number;
  text: string;
  bad: boolean;
}

const SHOWN_MS = 6_000;
const MOST = 4;
let toasts: readonly Toast[] = [];
let made = 0;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]) {
  toasts = next;
  for (const listener of listeners) listener();
}

export function toast(text: string, bad = false): void {
  const id = ++made;
  set([...toasts.slice(1 - MOST), { id, text, bad }]);
  setTimeout(() => set(toasts.filter((one) => one.id !== id)), SHOWN_MS);
}

export function toastError(error: unknown): void {
  if (!isSignedOut(error)) toast(errorText(error), true);
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map((one) => (
        <p key={one.id} className={one.bad ? 'toast bad' : 'toast'}>
          {one.text}
        </p>
      ))}
    </div>
  );
}
