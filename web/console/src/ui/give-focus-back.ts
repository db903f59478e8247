/**
 * Where the focus goes after a dialog. The browser gives it back to what opened the dialog; but that may be gone, at once or a
 * moment later: the row was deleted, the menu closed. Then it goes to what held it (the row, the list), else to the title of the
 * page, and never to nowhere: from there a keyboard begins at the top, and a screen reader says nothing.
 */

/** What is worth to be read aloud in place of something that stood in it. */
const HOLDERS = 'li, ul, ol, table, [role="list"], [role="region"], dialog';

/** Remembers where the focus is; what it gives is called when the dialog was closed. */
export function rememberFocus(): () => void {
  const opener = document.activeElement;
  const holders: HTMLElement[] = [];
  for (let one = opener?.parentElement; one != null; one = one.parentElement) {
    if (one.matches(HOLDERS)) holders.push(one);
  }
  return () => watch(opener, holders);
}

/** Ends the watch of the dialog before: at most one is needed. */
let leave: (() => void) | undefined;

/** Until the user, or the page, goes elsewhere. */
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
  // Attributes as well: what is hidden or disabled loses the focus too.
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
