// Stands between the conformance suite and the gateway, because the suite has no way to say who it is and wants
// fixed names.
//
//   node proxy.mjs --to URL --listen 127.0.0.1:0 --prefix mcp_fixture__ --package mcp.fixture --header name=value
//
// It adds headers; takes the prefix off the names of tools and prompts, and puts it on again in calls (another one
// with --call-prefix); and takes the package out of resource URIs: `test://mcp.fixture/a` is `test://a` to the suite.
// All else passes as it came: Host and Origin, every other header, and every message in which nothing has to change.
// Needs Node 22.

import http from 'node:http';
import { parseArgs } from 'node:util';

/** Largest JSON body, and largest message in a stream. */
const MAX_MESSAGE = 64 * 1024 * 1024;

const { values: options } = parseArgs({
  options: {
    to: { type: 'string' },
    listen: { type: 'string', default: '127.0.0.1:0' },
    prefix: { type: 'string', default: '' },
    'call-prefix': { type: 'string' },
    package: { type: 'string', default: '' },
    header: { type: 'string', multiple: true, default: [] },
  },
});
const target = new URL(options.to);
const prefix = options.prefix;
const callPrefix = options['call-prefix'] ?? prefix;
const segment = options.package && `${options.package}/`;
const added = options.header.map((header) => {
  const at = header.indexOf('=');
  return [header.slice(0, at), header.slice(at + 1)];
});

/** Names that the gateway lists without the prefix: its own. They are called as they are. */
const foreign = new Set();

function shortName(name) {
  if (typeof name !== 'string') return name;
  if (name.startsWith(prefix)) return name.slice(prefix.length);
  foreign.add(name);
  return name;
}
const longName = (name) => (typeof name !== 'string' || foreign.has(name) ? name : callPrefix + name);
const shortUri = (uri) => (typeof uri === 'string' && segment ? uri.replace(`://${segment}`, '://') : uri);
const longUri = (uri) => (typeof uri === 'string' && segment ? uri.replace('://', `://${segment}`) : uri);

/** Replaces a field where it is there. */
function change(object, key, how) {
  if (object !== null && typeof object === 'object' && key in object) object[key] = how(object[key]);
}
const each = (list, what) => Array.isArray(list) && list.forEach(what);
const all = (list, how) => (Array.isArray(list) ? list.map(how) : list);

/** From the suite to the gateway. */
function outward(message) {
  const params = message?.params;
  switch (message?.method) {
    case 'tools/call':
    case 'prompts/get':
      return change(params, 'name', longName);
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return change(params, 'uri', longUri);
    case 'completion/complete':
      if (params?.ref?.type === 'ref/prompt') change(params.ref, 'name', longName);
      if (params?.ref?.type === 'ref/resource') change(params.ref, 'uri', longUri);
      return;
    case 'subscriptions/listen':
      return change(params?.notifications, 'resourceSubscriptions', (uris) => all(uris, longUri));
  }
}

/** A block of content: a resource in it, or a link to one. */
function inwardBlock(block) {
  change(block?.resource, 'uri', shortUri);
  if (block?.type === 'resource_link') change(block, 'uri', shortUri);
}

/** From the gateway to the suite. Results are told by their fields: one stream carries answers to any method. */
function inward(message) {
  const { result, params } = message ?? {};
  if (message?.method === 'notifications/resources/updated') change(params, 'uri', shortUri);
  if (message?.method === 'notifications/subscriptions/acknowledged') {
    change(params?.notifications, 'resourceSubscriptions', (uris) => all(uris, shortUri));
  }
  each(result?.tools, (tool) => change(tool, 'name', shortName));
  each(result?.prompts, (prompt) => change(prompt, 'name', shortName));
  each(result?.resources, (resource) => change(resource, 'uri', shortUri));
  each(result?.resourceTemplates, (template) => change(template, 'uriTemplate', shortUri));
  each(result?.contents, (content) => change(content, 'uri', shortUri));
  each(result?.content, inwardBlock);
  each(result?.messages, (message) => each([message?.content].flat(), inwardBlock));
  change(message?.error?.data, 'uri', shortUri);
}

/** The text with its messages changed; the very same text where nothing changed. Numbers keep their spelling. */
function rewrite(text, direction) {
  let message;
  try {
    const spelled = (_, value, { source }) => (typeof value === 'number' ? JSON.rawJSON(source) : value);
    message = JSON.parse(text, spelled);
  } catch {
    return text;
  }
  const before = JSON.stringify(message);
  each(Array.isArray(message) ? message : [message], direction);
  const after = JSON.stringify(message);
  return before === after ? text : after;
}

/** One event of a stream, its blank line included. */
function rewriteEvent(event) {
  const lines = event.split(/(?<=\n)/);
  const data = lines.filter((line) => line.startsWith('data:'));
  const text = data.map((line) => line.replace(/^data: ?/, '').replace(/\r?\n$/, '')).join('\n');
  const changed = rewrite(text, inward);
  if (changed === text) return event;
  const first = lines.indexOf(data[0]);
  const kept = lines.map((line, at) => (at === first ? `data: ${changed}\n` : line.startsWith('data:') ? '' : line));
  return kept.join('');
}

/** Passes a stream on event by event, each as soon as it is whole. */
async function passStream(from, to) {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of from) {
    rest += decoder.decode(chunk, { stream: true });
    if (rest.length > MAX_MESSAGE) throw new Error('an event is too large');
    for (let end; (end = /\r?\n\r?\n/.exec(rest)); ) {
      const at = end.index + end[0].length;
      to.write(rewriteEvent(rest.slice(0, at)));
      rest = rest.slice(at);
    }
  }
  to.end(rest + decoder.decode());
}

async function readBody(stream) {
  const chunks = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > MAX_MESSAGE) throw new Error('a body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The headers in their order and spelling, without those that belong to one connection. */
function passHeaders(raw, dropped) {
  const headers = [];
  for (let at = 0; at < raw.length; at += 2) {
    if (!dropped.includes(raw[at].toLowerCase())) headers.push(raw[at], raw[at + 1]);
  }
  return headers;
}

/** `Mcp-Name` follows the body: a tool or a prompt by name, a resource by URI. It may be wrapped in Base64. */
function headerName(method, value) {
  const long = { 'tools/call': longName, 'prompts/get': longName, 'resources/read': longUri }[method];
  if (!long) return value;
  const wrapped = /^=\?base64\?([A-Za-z0-9+/]+=*)\?=$/.exec(value);
  if (!wrapped) return long(value);
  return `=?base64?${Buffer.from(long(Buffer.from(wrapped[1], 'base64').toString())).toString('base64')}?=`;
}

/** The method of a message. None where it is not one; then its headers are passed on as they are. */
function methodOf(text) {
  try {
    return JSON.parse(text).method;
  } catch {
    return undefined;
  }
}

function requestHeaders(request, method, length) {
  const replaced = added.map(([name]) => name.toLowerCase());
  const hop = ['connection', 'content-length', 'transfer-encoding', 'accept-encoding'];
  const headers = passHeaders(request.rawHeaders, [...hop, ...replaced]);
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at].toLowerCase() === 'mcp-name') headers[at + 1] = headerName(method, headers[at + 1]);
  }
  if (length > 0) headers.push('Content-Length', String(length));
  return [...headers, ...added.flat()];
}

async function pass(request, response) {
  const given = (await readBody(request)).toString();
  const body = Buffer.from(rewrite(given, outward));
  const headers = requestHeaders(request, methodOf(given), body.length);
  // A connection a request: none that was kept can be closed under a request.
  const forward = http.request(target, { method: request.method, headers, agent: false, setHost: false });
  response.on('close', () => forward.destroy());
  forward.end(body);
  const answer = await new Promise((done, failed) => forward.on('response', done).on('error', failed));
  const kind = answer.headers['content-type'] ?? '';
  const back = passHeaders(answer.rawHeaders, ['connection', 'keep-alive', 'content-length', 'transfer-encoding']);
  if (kind.startsWith('text/event-stream')) {
    response.writeHead(answer.statusCode, back);
    response.flushHeaders();
    await passStream(answer, response);
  } else {
    const whole = await readBody(answer);
    const changed = kind.startsWith('application/json') ? Buffer.from(rewrite(whole.toString(), inward)) : whole;
    response.writeHead(answer.statusCode, [...back, 'Content-Length', String(changed.length)]);
    response.end(changed);
  }
}

const server = http.createServer((request, response) => {
  pass(request, response).catch((error) => {
    if (response.headersSent || response.destroyed) return response.destroy();
    response.writeHead(502, { 'Content-Type': 'text/plain' }).end(`the gateway does not answer: ${error.message}`);
  });
});
const [, host, port] = /^(.*):(\d+)$/.exec(options.listen);
server.listen(Number(port), host, () => {
  console.log(`listening http://${host}:${server.address().port}${target.pathname}`);
});
