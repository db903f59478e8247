/**
 * Where the focus goes after a dialog. The browser returns it to the element that opened the dialog, but that may be gone, at once or a
 * moment later: the row was deleted, the menu closed. Then it goes to the container (the row, the list), or else to the page title, but
 * never to nothing: from there the keyboard starts at the top, and a screen reader is silent.
 */

/** Containers that are worth reading aloud instead of a removed element. */
const HOLDERS = 'li, ul, ol, table, [role="list"], [role="region"], dialog';

/** Remembers the focus; call the returned function after the dialog was closed. */
export function rememberFocus(): () => void {
  const opener = document.activeElement;
  const holders: HTMLElement[] = [];
  for (let one = opener?.parentElement; one != null; one = one.parentElement) {
    if (one.matches(HOLDERS)) holders.push(one);
  }
  return () => watch(opener, holders);
}

/** Stops watching for the previous dialog: at most one watcher is needed. */
let leave: (() => void) | undefined;

/** Until the user, or the page, moves the focus elsewhere. */
function watch(opener: Element | null, holders: readonly HTMLElement[]): void {
  leave?.();
  const look = () => {
    if (!isNowhere()) return;
    end();
    placeFor(holders)?.focus({ preventScroll: true });
  };
  const observer = new MutationObserver(look);
  const moved = (event: Event) => void (event.target !== opener && end());
  function end() {
    observer.disconnect();
    document.removeEventListener('focusin', moved);
    document.removeEventListener('pointerdown', end);
    if (leave === end) leave = undefined;
  }
  leave = end;
  // Attributes as well: hidden or disabled elements also lose the focus.
  observer.observe(document.body, { childList: true, subtree: true, attributes: true });
  document.addEventListener('focusin', moved);
  document.addEventListener('pointerdown', end);
  queueMicrotask(look);
}

const isNowhere = () => document.activeElement === null || document.activeElement === document.body;

function placeFor(holders: readonly HTMLElement[]): HTMLElement | null {
  const main = document.querySelector('main');
  const title = main?.querySelector('h1') ?? null;
  const place = [...holders, title, main].find((one) => one?.isConnected === true && one.checkVisibility() && isReachable(one)) ?? null;
  if (place !== null && !place.hasAttribute('tabindex')) place.tabIndex = -1;
  return place;
}

/** Behind an open dialog nothing can have the focus. */
function isReachable(place: HTMLElement): boolean {
  const open = [...document.querySelectorAll('dialog:modal')].at(-1);
  return open === undefined || open.contains(place);
}
