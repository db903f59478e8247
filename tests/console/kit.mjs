// What the tests of apps, library and tools share.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before } from 'node:test';
import { becomes, launch, open, until } from './browser.mjs';
import { stage, USER } from './stage.mjs';

// While the console is being worked on it comes from Vite, which asks the server at a port it was told.
export const at = process.env.STAGE_PORT ? { port: Number(process.env.STAGE_PORT) } : {};
export const consoleOf = (it) => process.env.CONSOLE_URL ?? it.url;

/** A request without glasses that opens a session: in dev mode a bare user has none. */
export async function live(it, user = USER) {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  const headers = { 'X-User-Id': user, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
  const response = await fetch(`${it.url}/mcp`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  });
  assert.equal(response.status, 200);
}

/** Glasses of a model, as long as the page is open. */
export async function wear(page, modelName) {
  const talk = ([user, model]) =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`ws://${location.host}/glasses-ws?user=${encodeURIComponent(user)}`);
      socket.onopen = () => {
        socket.send(JSON.stringify({ type: 'glasses_connection_state', modelName: model, status: 'CONNECTED' }));
        socket.send(JSON.stringify({ type: 'ping' }));
      };
      // The pong comes when the server has taken in which glasses these are.
      socket.onmessage = (event) => JSON.parse(event.data).type === 'pong' && resolve();
      socket.onclose = (event) => reject(new Error(`${event.code} ${event.reason}`));
    });
  await page.evaluate(talk, [USER, modelName]);
}

/** A small app over HTTP: answers what it was asked; the tool `slow` tells of its progress first. */
export async function smallApp() {
  const asked = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const call = JSON.parse(body || '{}');
    asked.push(call);
    if (call.name === 'slow') {
      response.setHeader('content-type', 'application/x-ndjson');
      response.write(`${JSON.stringify({ type: 'progress', progress: 0.5, message: 'half way' })}\n`);
      return response.end(`${JSON.stringify({ type: 'result', success: true, content: 'done slowly' })}\n`);
    }
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ success: true, content: { echoed: call.arguments } }));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, asked, close: () => server.close() };
}

/** Waits until nothing is being answered in the conversation on the page. */
export const ready = (page) => page.getByRole('button', { name: 'Send' }).waitFor();

/** Sends a message in the conversation on the page. While an answer is under way Enter does nothing, so that is waited for first. */
export async function ask(page, text) {
  await ready(page);
  const box = page.getByRole('textbox', { name: 'Message' });
  await box.fill(text);
  await box.press('Enter');
}

/** Has the model call a tool in the conversation on the page, and gives what the model was told of it. */
export async function callInChat(it, page, tool, args = {}) {
  const before = it.model.asked.length;
  await ask(page, `call ${tool} with ${JSON.stringify(args)}`);
  const answer = await until(() =>
    it.model.asked
      .slice(before)
      .map(({ messages }) => messages.at(-1))
      .find(({ role }) => role === 'tool'),
  );
  await page
    .getByText(/^Done:/)
    .last()
    .waitFor();
  await ready(page);
  const text = typeof answer.content === 'string' ? answer.content : answer.content.map((part) => part.text).join('');
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Holds requests back: `page.route(pattern, one.hold)`; `reached` when there is one, and they go on with `open`. */
export function gate() {
  const [first, opened] = [Promise.withResolvers(), Promise.withResolvers()];
  const hold = async (route) => {
    first.resolve();
    await opened.promise;
    // The page may have given it up meanwhile.
    await route.fallback().catch(() => undefined);
  };
  return { hold, reached: first.promise, open: opened.resolve };
}

/** Opens what an element is folded away in. */
export const unfold = (element) =>
  element.evaluate((one) => {
    const fold = one.closest('details');
    if (fold !== null) fold.open = true;
  });

/** Signs in with a token in a form or a dialog: the form may be folded away behind other ways to sign in. */
export async function enterToken(scope, token) {
  const field = scope.getByLabel('Token', { exact: true });
  await unfold(field);
  await field.fill(token);
  await scope.locator('form.token-form').getByRole('button', { name: 'Sign in' }).click();
}

/** Nothing is wider than the screen of a phone. */
export const fitsPhone = (page) => becomes(() => page.evaluate(() => document.documentElement.scrollWidth), page.viewportSize().width);

export const PHONE = { viewport: { width: 390, height: 844 }, colorScheme: 'dark' };

/** A platform and a browser for all tests of a file; `page(path)` opens the console there. `prepare` is done before the first of them. */
export function platform(options = {}, prepare = async () => {}) {
  const it = {};
  before(async () => {
    const [staged, browser] = await Promise.all([stage({ ...at, ...options }), launch()]);
    const credential = options.auth === 'token' ? { token: staged.token } : {};
    const page = (path, more) => open(browser, consoleOf(staged), path, { ...credential, ...more });
    Object.assign(it, staged, { browser, page });
    await prepare(it);
  });
  after(async () => {
    await it.browser?.close();
    await it.close?.();
  });
  return it;
}
