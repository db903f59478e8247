/** The server's own speech, the only audio that the console fetches. */
export interface Speech {
  path: string;
  /** The URL is signed, so the user's credential must not be sent with it. */
  signed: boolean;
}

/**
 * Always requested from this server. The host name that the server uses may differ from that of the page, so a signed URL, which our
 * server verifies, may name any host. A URL that needs the user's credential must name our own host.
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
