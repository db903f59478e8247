// What the tests of accounts share: one-time links, passkeys in a virtual authenticator, and an issuer.
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';
import { open } from './browser.mjs';

export const PASSWORD = 'correct horse battery';

export const menu = (page) => page.locator('summary').filter({ hasText: 'User menu' });
export const signInPage = (page) => page.getByRole('heading', { name: 'Toolyard', level: 1 });

/** Passkeys need a host name. */
export const STAGE = { auth: 'token', host: 'localhost', settings: ['net.allow_loopback=true'] };

/** Creates an account; returns its one-time link. */
export async function invite(it, userId, more = {}) {
  const { link } = await it.api('POST', '/api/users', { userId, invite: true, ...more });
  return link.url;
}

/** A page of the console for a new account that was signed in with its link. Accounts are signed in at `/settings?tab=account`. */
export async function visitByLink(browser, url, link, options = {}) {
  const page = await open(browser, url, `/sign-in${new URL(link).hash}`, { user: null, ...options });
  await page.getByRole('button', { name: 'Sign in', exact: true }).first().click();
  await menu(page).waitFor();
  return page;
}

export const passwordForm = (scope) => scope.locator('form.password-form');

export async function enterPassword(scope, account, password = PASSWORD) {
  await passwordForm(scope).getByLabel('Account', { exact: true }).fill(account);
  await passwordForm(scope).getByLabel('Password', { exact: true }).fill(password);
  await passwordForm(scope).getByRole('button', { name: 'Sign in' }).click();
}

/** Sets the password of the user of a page, who has just signed in. */
export async function setPassword(page, password = PASSWORD) {
  await page.getByRole('button', { name: 'Set a password' }).click();
  const dialog = page.getByRole('dialog', { name: 'Set a password' });
  await dialog.getByLabel('New password', { exact: true }).fill(password);
  await dialog.getByLabel('Repeat the new password').fill(password);
  await dialog.getByRole('button', { name: 'Set password' }).click();
  await page.getByRole('button', { name: 'Change password' }).waitFor();
}

/** A device with a fingerprint sensor that always agrees. */
export async function addAuthenticator(page) {
  const client = await page.context().newCDPSession(page);
  await client.send('WebAuthn.enable');
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
    automaticPresenceSimulation: true,
  };
  const { authenticatorId } = await client.send('WebAuthn.addVirtualAuthenticator', { options });
  const agrees = (isUserVerified) => client.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified });
  // While nobody touches the sensor, the sign-in page only offers passkeys among the suggestions of its field.
  const isTouched = (enabled) => client.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled });
  const credentials = async () => (await client.send('WebAuthn.getCredentials', { authenticatorId })).credentials;
  return { agrees, isTouched, credentials };
}

/** The client of the server at the issuer. */
export const CLIENT = { id: 'toolyard', secret: 'a secret of the tests, at least 32 bytes long', secretEnv: 'CONSOLE_TESTS_ISSUER_SECRET' };

/**
 * An OpenID Connect issuer with a login page that submits itself as `user`. `people`: their claims by subject. Its client is known only
 * when the server has started: `serve(redirectUri)`.
 */
export async function startIssuer(people) {
  const it = { user: Object.keys(people)[0], people };
  let answer = (_request, response) => response.writeHead(503).end();
  const server = createServer((request, response) => answer(request, response));
  await new Promise((resolve) => server.listen(0, 'localhost', resolve));
  it.url = `http://localhost:${server.address().port}`;
  it.serve = (redirectUri) => {
    const provider = providerOf(it, redirectUri);
    const callback = provider.callback();
    answer = (request, response) => {
      const login = /^\/login\/([\w-]+)$/.exec(request.url);
      if (login === null) return callback(request, response);
      return logIn(provider, it, request, response).catch((error) => response.writeHead(500).end(String(error)));
    };
  };
  it.close = () => {
    server.closeAllConnections();
    server.close();
  };
  return it;
}

function providerOf(it, redirectUri) {
  return new Provider(it.url, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [redirectUri],
        response_types: ['code'],
        grant_types: ['authorization_code'],
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ],
    cookies: { keys: ['tests'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/login/${uid}` },
    pkce: { required: () => true },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
    conformIdTokenClaims: false,
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...it.people[id] }) }),
  });
}

/** The page that asks who one is: it answers by itself. */
async function logIn(provider, it, request, response) {
  const { params, prompt } = await provider.interactionDetails(request, response);
  if (request.method === 'GET') {
    response.setHeader('content-type', 'text/html');
    return response.end('<!doctype html><title>Sign in</title><form method="post"></form><script>document.forms[0].submit()</script>');
  }
  if (it.user === null) {
    return provider.interactionFinished(request, response, { error: 'access_denied', error_description: 'the user refused' });
  }
  const grant = new provider.Grant({ accountId: it.user, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  const consent = { grantId: await grant.save() };
  const result = prompt.name === 'login' ? { login: { accountId: it.user }, consent } : { consent };
  return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
}
