/** A call waits until the user has signed in to an upstream: what its row shows. */
import type { SignInData } from '@toolyard/client';
import { foreignName } from '../../ui/labels';

export interface SignInRequest {
  toolCallId: string;
  /** The upstream. */
  name: string;
  /** The page of this console to sign in, if it is one. */
  url?: string;
}

export function signInRequest({ toolCallId, packageName, name, url }: SignInData, origin = window.location.origin): SignInRequest {
  const shown = { toolCallId, name: foreignName(name, packageName) };
  return isOwnUrl(url, origin) ? { ...shown, url } : shown;
}

/** Only pages of this server are offered as a link. */
export function isOwnUrl(url: string, origin: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, origin: found, username, password } = new URL(url);
  return (protocol === 'http:' || protocol === 'https:') && found === origin && username === '' && password === '';
}
