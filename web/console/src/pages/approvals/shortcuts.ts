/** Keyboard shortcuts of the inbox. */
import { useEffect, useRef } from 'react';

export type Shortcut = 'next' | 'previous' | 'approve' | 'deny' | 'help';

const KEYS: Readonly<Record<string, Shortcut>> = {
  j: 'next',
  ArrowDown: 'next',
  k: 'previous',
  ArrowUp: 'previous',
  a: 'approve',
  d: 'deny',
  '?': 'help',
};

type Press = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'repeat' | 'defaultPrevented'>;

/** The shortcut of a key press. A key that is held down answers only once. */
export function shortcutOf({ key, ctrlKey, metaKey, altKey, repeat, defaultPrevented }: Press): Shortcut | undefined {
  if (ctrlKey || metaKey || altKey || defaultPrevented) return undefined;
  const found = Object.hasOwn(KEYS, key) ? KEYS[key] : undefined;
  return repeat && found !== 'next' && found !== 'previous' ? undefined : found;
}

/** Where keys have a meaning of their own. */
const OWN_KEYS = 'input, textarea, select, [contenteditable], [role="tab"], [role="menu"], [role="region"]';

export function useShortcuts(onShortcut: (shortcut: Shortcut) => void): void {
  const latest = useRef(onShortcut);
  useEffect(() => {
    latest.current = onShortcut;
  });
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isOwn = event.target instanceof Element && event.target.closest(OWN_KEYS) !== null;
      if (isOwn || document.querySelector('dialog:modal') !== null) return;
      const shortcut = shortcutOf(event);
      if (shortcut === undefined) return;
      event.preventDefault();
      latest.current(shortcut);
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, []);
}
