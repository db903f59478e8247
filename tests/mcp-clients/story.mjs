// What every client in JavaScript does, step by step: it says one line of JSON for each. The test that started it says
// which steps, and checks what came of them; here only what no client should ever see ends the program.
import { createInterface } from 'node:readline';

export const plan = JSON.parse(process.argv[2]);

const LATE = 'com_example_late__new';

const say = (step, more) => process.stdout.write(`${JSON.stringify({ step, ...more })}\n`);
const orders = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** What the user answers when asked. */
export const ANSWER = { action: 'accept', content: { username: 'ada', email: 'ada@example.com' } };

/** Takes a question to the user: a page is opened, a form is filled in. */
export function answerTo({ mode, url, message }, questions) {
  if (mode === 'url') {
    say('page', { url });
    return { action: 'accept' };
  }
  questions.push(message);
  return ANSWER;
}

/** What the client says that it can ask the user. */
export const abilities = (forms) => ({ elicitation: plan.opensPages ? { url: {} } : forms });

/** The text of a result that went well. */
export function text(result) {
  if (result.isError || result.content.length !== 1) throw new Error(JSON.stringify(result));
  return result.content[0].text;
}

/** What a client does: `list`, `call(name, arguments, options)`, and what it heard: `changed` (promises), `questions`. */
export async function play(client, revision) {
  const names = async () => (await client.list()).toSorted();
  const steps = {
    list: async () => say('list', { names: await names() }),
    alias: async () => say('alias', { text: await client.call('com_example_echo__echo', { text: 'hi' }) }),
    canonical: async () => say('canonical', { text: await client.call('com.example.echo:echo', { text: 'hi' }) }),
    progress: async () => {
      const onProgress = ({ progress, total, message = null }) => say('told', { progress, total, message });
      say('progress', { text: await client.call('com_example_steps__count', {}, { onProgress }) });
    },
    cancel: async () => {
      const giveUp = new AbortController();
      const call = client.call('com_example_slow__wait', {}, { signal: giveUp.signal });
      const failed = call.then(
        () => {
          throw new Error('the call was answered');
        },
        () => {},
      );
      say('waits');
      await orders.next();
      giveUp.abort();
      await failed;
      // The connection outlives the call.
      say('cancel', { text: await client.call('com_example_echo__echo', {}) });
    },
    change: async () => {
      let list;
      say('listens');
      do {
        await client.changed();
        list = await names();
      } while (!list.includes(LATE));
      say('change', { names: list });
    },
    ask: async () => {
      const answer = await client.call('mcp_fixture__test_elicitation', { message: 'Who are you?' });
      say('ask', { question: client.questions.join(), text: answer });
    },
    'sign-in': async () => say('sign-in', { text: await client.call('mcp_guarded__echo', { text: 'hi' }) }),
  };
  say('connected', { revision });
  for (const step of plan.steps) await steps[step]();
  process.stdin.destroy();
}

/** Something that happens now and then, to be waited for. What happened before it was waited for counts once. */
export function bell() {
  let ring;
  let rung = new Promise((resolve) => {
    ring = resolve;
  });
  return {
    ring: () => ring(),
    heard: async () => {
      await rung;
      rung = new Promise((resolve) => {
        ring = resolve;
      });
    },
  };
}
