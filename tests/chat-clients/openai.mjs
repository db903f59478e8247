// OpenAI's own SDK: answers whole and streamed, its loop over tools, its list of models, its errors.
import OpenAI from 'openai';
import { OWN, counting, plan, play, say, told } from './story.mjs';

/** A `fetch` whose streams have heartbeats before their first event and after each, as those of a slow model have. */
const beating = (fetch) => async (url, init) => {
  const { body, headers, status } = await fetch(url, init);
  const beat = new TextEncoder().encode(': keep-alive\n\n');
  const beats = new TransformStream({
    start: (to) => to.enqueue(beat),
    transform: (piece, to) => {
      to.enqueue(piece);
      // Not in the middle of an event.
      if (piece.at(-1) === 10 && piece.at(-2) === 10) to.enqueue(beat);
    },
  });
  return new Response(body.pipeThrough(beats), { status, headers });
};

function open({ key = plan.key, beats = false }) {
  const fetch = counting();
  const client = new OpenAI({
    baseURL: `${plan.url}/v1`,
    apiKey: key,
    defaultHeaders: plan.headers,
    maxRetries: 0,
    fetch: beats ? beating(fetch) : fetch,
  });
  return { client, fetch };
}

const user = (content) => ({ role: 'user', content });
const own = (tools) => tools.map((tool) => ({ type: 'function', function: tool }));
const runnable = (tools) =>
  tools.map((tool) => ({
    type: 'function',
    function: { ...tool, parse: JSON.parse, function: () => OWN[tool.name]() },
  }));

/** Ids are made up by chance. */
const calls = ({ tool_calls }) => tool_calls?.map(({ type, function: { name, arguments: args } }) => ({ type, name, args }));

const report = ({ model, choices: [{ message, finish_reason }], usage }) => ({
  model,
  content: message.content,
  calls: calls(message),
  finish: finish_reason,
  usage,
});

/** The answer of one request, either way. */
async function ask(client, { stream = false, ...request }) {
  if (!stream) return client.chat.completions.create(request);
  return client.chat.completions.stream({ ...request, stream_options: { include_usage: true } }).finalChatCompletion();
}

/** The request that an order is about. */
const request = ({ model = plan.model, text = 'Hello?', tools = [], stream }) => ({
  model,
  stream,
  messages: [user(text)],
  ...(tools.length > 0 && { tools: own(tools) }),
});

/** What something failed with. */
const error = (failing) =>
  failing.then(
    () => {
      throw new Error('it came to a good end');
    },
    (raised) => raised,
  );

const about = ({ constructor: { name: kind }, status, message, type, param }) => ({ kind, status, message, type, param });

/** A stream as the SDK gives it, chunk by chunk. */
async function stream(order) {
  const { client } = open(order);
  return { stream: await client.chat.completions.create({ ...request(order), stream: true }), text: '', next: async () => {} };
}

/** Reads it to its end, and says when the first words are there. */
async function words(read) {
  for await (const {
    choices: [{ delta }],
  } of read.stream) {
    const first = read.text === '';
    read.text += delta.content ?? '';
    if (!first || read.text === '') continue;
    say('reads', { text: read.text });
    await read.next();
  }
}

await play({
  ask: async (order) => {
    const { client, fetch } = open(order);
    return { ...report(await ask(client, request(order))), posts: fetch.posts };
  },
  // What a caller does that runs its tools by hand.
  answer: async (order) => {
    const { client, fetch } = open(order);
    const first = await ask(client, request(order));
    const { message } = first.choices[0];
    const answers = message.tool_calls.map(({ id, function: { name } }) => ({
      role: 'tool',
      tool_call_id: id,
      content: JSON.stringify(OWN[name]()),
    }));
    const second = await ask(client, { ...request(order), messages: [user(order.text), message, ...answers] });
    return { first: report(first), second: report(second), posts: fetch.posts };
  },
  // What a caller does that leaves the loop to the SDK.
  run: async (order) => {
    const { client, fetch } = open(order);
    const runner = client.chat.completions.runTools({ ...request(order), tools: runnable(order.tools) });
    const content = await runner.finalContent();
    return { content, roles: runner.messages.map(({ role }) => role), posts: fetch.posts };
  },
  // The same over the Responses API, whole or streamed.
  respond: async (order) => {
    const { client, fetch } = open(order);
    const respond = async (input) => {
      const asked = { model: plan.model, input, tools: order.tools.map((tool) => ({ type: 'function', strict: false, ...tool })) };
      if (!order.stream) return client.responses.create(asked);
      return client.responses.stream(asked).finalResponse();
    };
    const input = [user(order.text)];
    const first = await respond(input);
    const answers = first.output
      .filter(({ type }) => type === 'function_call')
      .map(({ call_id, name }) => ({
        type: 'function_call_output',
        call_id,
        output: JSON.stringify(OWN[name]()),
      }));
    const second = await respond([...input, ...first.output, ...answers]);
    const calls = first.output.filter(({ type }) => type === 'function_call').map(({ name, arguments: args }) => ({ name, args }));
    return { calls, text: second.output_text, status: second.status, usage: second.usage.total_tokens, posts: fetch.posts };
  },
  fail: async (order) => {
    const { client } = open(order);
    return about(await error(ask(client, request(order))));
  },
  models: async (order) => {
    const { client } = open(order);
    const models = [];
    for await (const model of client.models.list()) models.push(model);
    return { models };
  },
  leave: async (order) => {
    const read = await stream(order);
    read.next = async () => {
      await told();
      read.stream.controller.abort();
    };
    await words(read);
    return { text: read.text };
  },
  break: async (order) => {
    const read = await stream(order);
    return { ...about(await error(words(read))), text: read.text };
  },
});
