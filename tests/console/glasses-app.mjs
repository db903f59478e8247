// Parts of the tests of the glasses: where things are on the page, and a small session app on the bare wire that shows what it hears
// and which button was pressed, and says what it is told to say.
import { createServer } from 'node:http';
import { once } from 'node:events';

/** Registers the app, installs it for the user, and answers webhooks until it is closed. */
export async function glassesApp(it, { packageName = 'com.example.echo', name = 'Echo', ...details } = {}) {
  const heard = [];
  let socket;
  let key;
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const message = JSON.parse(body);
    if (request.url === '/webhook' && message.type === 'session_request') socket = dial(message, key, packageName, heard);
    response.setHeader('content-type', 'application/json');
    response.end('{"status":"success","reply":"done"}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const publicUrl = `http://127.0.0.1:${server.address().port}`;
  const tools = [{ name: 'ping', description: 'Answers.', inputSchema: { type: 'object', properties: {} } }];
  const created = await it.api('POST', '/api/apps', {
    packageName,
    name,
    publicUrl,
    kind: 'session',
    appType: 'standard',
    tools,
    ...details,
  });
  key = created.apiKey;
  await it.api('PUT', `/api/installs/${packageName}`);
  return {
    /** Messages of the server to the app, the newest last. */
    heard,
    /** Says something to the server as the app. */
    send: (message) => socket.send(JSON.stringify({ packageName, ...message })),
    close() {
      socket?.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

function dial({ sessionId, mentraOSWebsocketUrl }, apiKey, packageName, heard) {
  const socket = new WebSocket(mentraOSWebsocketUrl);
  const send = (message) => socket.send(JSON.stringify({ packageName, sessionId, ...message }));
  const show = (text) => send({ type: 'display_event', view: 'main', layout: { layoutType: 'text_wall', text } });
  socket.onopen = () => send({ type: 'tpa_connection_init', apiKey });
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    heard.push(message);
    if (message.type === 'tpa_connection_ack') {
      send({
        type: 'subscription_update',
        subscriptions: ['button_press', 'head_position', 'glasses_battery_update', 'touch_event', 'transcription:en-US'],
      });
      show('ready');
    }
    if (message.type !== 'data_stream') return;
    const { type, pressType, position, level, gesture_name: gesture, text, isFinal } = message.data;
    if (type === 'button_press') show(`pressed ${pressType}`);
    if (type === 'head_position') show(`head ${position}`);
    if (type === 'glasses_battery_update') show(`battery ${level}`);
    if (type === 'touch_event') show(`touched ${gesture}`);
    if (type === 'transcription') show(`${isFinal ? 'heard' : 'hearing'}: ${text}`);
  };
  return socket;
}

export const display = (page) => page.getByRole('region', { name: 'Display' });
export const events = (page) => page.getByRole('list', { name: 'Events' });
export const appRow = (page, name) => page.getByRole('list', { name: 'Your apps' }).getByRole('listitem').filter({ hasText: name });

/** Puts the glasses on. */
export async function wear(page, model) {
  if (model) await page.getByLabel('Model').selectOption(model);
  await page.getByRole('button', { name: 'Connect', exact: true }).click();
  await page.getByText('connected', { exact: true }).waitFor();
}

export async function say(page, words) {
  await page.getByLabel('What you say').fill(words);
  await page.getByRole('button', { name: 'Say', exact: true }).click();
}
