/** The page that the user wanted, while they are at a sign-in page or at an issuer. Paths include `/console` and the query. */
const KEY = 'toolyard.return';
const ROOT = '/console/';
export const SIGN_IN_PATH = `${ROOT}sign-in`;

/** Only pages of the console: an address could name any other place. */
export function safeReturn(path: string | null | undefined): string | undefined {
  if (path == null || !path.startsWith(ROOT)) return undefined;
  const { origin, pathname, search } = new URL(path, window.location.origin);
  const isHere = origin === window.location.origin && pathname.startsWith(ROOT) && !pathname.startsWith(SIGN_IN_PATH);
  return isHere ? pathname + search : undefined;
}

/** `named`: from the address of the sign-in page. An issuer that refuses the user returns without it. */
export function returnPath(named: string | undefined): string {
  const { pathname, search } = window.location;
  return safeReturn(pathname + search) ?? safeReturn(named) ?? safeReturn(sessionStorage.getItem(KEY)) ?? ROOT;
}

export const rememberReturn = (path: string) => sessionStorage.setItem(KEY, path);
export const forgetReturn = () => sessionStorage.removeItem(KEY);

/** The address that starts the sign-in with an issuer. */
export const issuerUrl = (issuer: string, path: string) =>
  `/sign-in/${encodeURIComponent(issuer)}?${new URLSearchParams({ return: path }).toString()}`;
