/** The server's own speech, the only sound that the console fetches. */
export interface Speech {
  path: string;
  /** The address is its own credential; the user's must not go along. */
  signed: boolean;
}

/**
 * Always asked of this server. The host that it knows itself by may differ from the one of the page, so a signed address,
 * which our server checks, may name any; one that takes the user's credential must be of our own host.
 */
export function speechAt(address: string, origin: string): Speech | null {
  let url: URL;
  try {
    url = new URL(address, origin);
  } catch {
    return null;
  }
  const signed = (url.searchParams.get('signature') ?? '') !== '';
  if (url.pathname !== '/api/tts' || (!signed && url.host !== new URL(origin).host)) return null;
  return { path: `/api/tts${url.search}`, signed };
}
