// What every program here has in common: it does what each line on its input asks for, and says what came of it in one
// line of JSON. The test that started it checks that; here only what no client should ever see ends the program.
import { createInterface } from 'node:readline';

export const plan = JSON.parse(process.argv[2]);

export const say = (step, more) => process.stdout.write(`${JSON.stringify({ step, ...more })}\n`);

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Waits until the test says that it may go on. */
export const told = async () => {
  await lines.next();
};

/** Does one thing after the other. */
export async function play(steps) {
  say('ready');
  for (let line = await lines.next(); !line.done; line = await lines.next()) {
    const { step, ...order } = JSON.parse(line.value);
    say(step, await steps[step](order));
  }
}

/** A `fetch` that counts what is posted. */
export function counting() {
  const counted = async (url, init) => {
    if (init?.method === 'POST') counted.posts += 1;
    return fetch(url, init);
  };
  counted.posts = 0;
  return counted;
}

/** A promise that others keep. */
export function promise() {
  let resolve;
  const kept = new Promise((keep) => {
    resolve = keep;
  });
  return { kept, resolve };
}

/** What the app runs by itself, and what comes of it. */
export const OWN = {
  clock: () => ({ time: '12:30' }),
  battery: () => 'half full',
  lamp: () => {
    throw new Error('the lamp is broken');
  },
};

/** What is told of a chat: ids of calls are made up by chance, so each becomes the number of its first appearance. */
export function report(told) {
  const numbers = new Map();
  const find = (key, value) => {
    if (key === 'toolCallId' && !numbers.has(value)) numbers.set(value, `call ${numbers.size + 1}`);
    return value;
  };
  JSON.stringify(told.messages, find);
  return JSON.parse(JSON.stringify(told, (_, value) => numbers.get(value) ?? value));
}
