/** Moves the focus to the title of the page, which is then read aloud. */
export function focusTitle(main: HTMLElement | null = document.querySelector('main')): void {
  const title = main?.querySelector<HTMLElement>('h1') ?? main;
  if (title == null) return;
  if (title !== main) title.tabIndex = -1;
  title.focus({ preventScroll: true });
}
