/** Passkeys: the browser's part of signing in, and of adding one. */
import { addPasskey, getPasskeyCreation, type PasskeyInfo, type SignedIn } from '../api/accounts';
import { getPasskeyRequest, signInWithPasskey } from '../api/sign-in';

/** Whether this browser has passkeys, and the functions that read options as JSON. */
export const supportsPasskeys = () =>
  typeof PublicKeyCredential === 'function' && typeof PublicKeyCredential.parseRequestOptionsFromJSON === 'function';

/** Asks for a passkey of any user, and signs in with it. Throws if the user cancels. */
export async function signInByPasskey(signal: AbortSignal, mediation: 'optional' | 'conditional' = 'optional'): Promise<SignedIn> {
  const { state, options } = await getPasskeyRequest();
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = await navigator.credentials.get({ publicKey, mediation, signal });
  return signInWithPasskey(state, toJson(credential));
}

/** Whether the browser can offer passkeys among the suggestions of a text field. */
export const offersInFields = async () =>
  supportsPasskeys() &&
  typeof PublicKeyCredential.isConditionalMediationAvailable === 'function' &&
  (await PublicKeyCredential.isConditionalMediationAvailable());

export async function createPasskey(name: string): Promise<PasskeyInfo> {
  const { state, options } = await getPasskeyCreation();
  const credential = await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) });
  return addPasskey({ state, name, credential: toJson(credential) });
}

function toJson(credential: Credential | null): unknown {
  if (!(credential instanceof PublicKeyCredential)) throw new Error('The browser returned no passkey. Try again.');
  return credential.toJSON();
}

/** The browser's errors have no useful messages. Undefined for other errors. */
export function passkeyErrorText(error: unknown): string | undefined {
  if (!(error instanceof DOMException)) return undefined;
  switch (error.name) {
    case 'NotAllowedError':
    case 'AbortError':
      return 'The passkey prompt was cancelled or timed out. Try again.';
    case 'InvalidStateError':
      return 'This device already has a passkey for your account. Use another device, or remove the old passkey first.';
    case 'SecurityError':
      return `Passkeys do not work at ${window.location.hostname}. Open the console at the public address of this server.`;
    default:
      return `The browser could not use a passkey (${error.name}). Try another browser or device.`;
  }
}
