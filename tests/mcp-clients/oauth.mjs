// What clients in JavaScript have in common when they connect by OAuth: what they remember, and the browser of their user.
export const plan = JSON.parse(process.argv[2]);

const CALLBACK = 'http://127.0.0.1:33418/callback';

/** The browser: follows the client's link, and says yes on the consent page, signed in as the user of the plan. */
async function agree(link) {
  const page = await fetch(link, { redirect: 'manual' });
  const location = page.headers.get('location');
  if (page.status !== 302) throw new Error(`${page.status} ${await page.text()}`);
  const request = new URL(location).searchParams.get('request');
  const decided = await fetch(new URL('/api/oauth/consent', plan.url), {
    method: 'POST',
    headers: { ...plan.user, 'content-type': 'application/json' },
    body: JSON.stringify({ request, approve: true }),
  });
  const { redirect } = await decided.json();
  if (!redirect.startsWith(`${CALLBACK}?`)) throw new Error(redirect);
  return new URL(redirect).searchParams;
}

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
    this.returned = await agree(link);
  };
}

export const say = (step, more) => process.stdout.write(`${JSON.stringify({ step, ...more })}\n`);
