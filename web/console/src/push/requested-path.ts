/** The path that the service worker asks for; undefined if the message is about something else. */
export function requestedPath(message: unknown, origin: string): string | undefined {
  const { type, url } = (message ?? {}) as { type?: unknown; url?: unknown };
  if (type !== 'open-page' || typeof url !== 'string' || !URL.canParse(url)) return undefined;
  const page = new URL(url);
  if (page.origin !== origin || !page.pathname.startsWith('/console/')) return undefined;
  return page.pathname + page.search + page.hash;
}
