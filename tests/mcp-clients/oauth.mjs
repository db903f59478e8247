// What clients in JavaScript have in common when they connect by OAuth: what they remember, and the browser that they open.
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { agree } from './consent.mjs';

export const plan = JSON.parse(process.argv[2]);

const CALLBACK = 'http://127.0.0.1:33418/callback';

/** What an app with the SDK keeps. `returned` has what the browser brought back. */
export class Memory {
  kept = {};
  returned;
  links = 0;

  get redirectUrl() {
    return CALLBACK;
  }
  get clientMetadata() {
    return { client_name: 'A real client', redirect_uris: [CALLBACK], grant_types: ['authorization_code', 'refresh_token'] };
  }
  state = () => 'the-state';
  clientInformation = () => this.kept.client;
  saveClientInformation = (client) => void (this.kept.client = client);
  tokens = () => this.kept.tokens;
  saveTokens = (tokens) => void (this.kept.tokens = tokens);
  saveCodeVerifier = (verifier) => void (this.kept.verifier = verifier);
  codeVerifier = () => this.kept.verifier;
  redirectToAuthorization = async (link) => {
    this.links += 1;
    const redirect = await agree(link, plan);
    if (!redirect.startsWith(`${CALLBACK}?`)) throw new Error(redirect);
    this.returned = new URL(redirect).searchParams;
  };
}

/** The whole environment of a client that opens a browser itself. It has no desktop, and so no other browser and no keychain. */
export function environment() {
  const bin = join(import.meta.dirname, 'bin');
  const PATH = [bin, dirname(process.execPath), process.env.PATH].join(delimiter);
  const { HTTPS_PROXY, NO_PROXY } = process.env;
  const browser = { BROWSER: join(bin, 'open'), BROWSER_PLAN: JSON.stringify(plan) };
  return { PATH, HOME: homedir(), HTTPS_PROXY, NO_PROXY, ...browser };
}

/** How many links that browser has opened. */
export const openedLinks = async () => (await readFile(join(homedir(), 'links'), 'utf8')).trim().split('\n').length;

export const say = (step, more) => process.stdout.write(`${JSON.stringify({ step, ...more })}\n`);
