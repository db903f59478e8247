// The AI SDK, version 4: `useChat` in a React app whose screen is in memory.
import { createElement } from 'react';
import { create } from 'react-test-renderer';
import { OWN, counting, plan, play, promise, report, say, told } from './story.mjs';

const { useChat } = await import(`${plan.client}/react`);

const rests = ({ status }) => status === 'ready' || status === 'error';
const parts = ({ messages }) => (messages.at(-1)?.role === 'assistant' ? messages.at(-1).parts : []);
const hasWords = (chat) => parts(chat).some((part) => part.type === 'text' && part.text !== '');
const isTool = (chat) => parts(chat).some((part) => part.toolInvocation?.state === 'call');

/** A chat as an app sets it up. Of its own tools, those in `late` answer when the stream has ended, in `never` not at all. */
class App {
  #fetch = counting();
  #calls = [];
  #late = [];
  #changed = () => {};

  constructor({ body, late = [], never = [] }) {
    const answer = (tool) => {
      try {
        return OWN[tool]();
      } catch (error) {
        return { error: error.message };
      }
    };
    const options = {
      api: `${plan.url}/api/chat`,
      headers: plan.headers,
      body,
      fetch: this.#fetch,
      maxSteps: 8,
      onToolCall: ({ toolCall: { toolName: tool, toolCallId } }) => {
        this.#calls.push(tool);
        if (late.includes(tool)) this.#late.push(() => this.chat.addToolResult({ toolCallId, result: answer(tool) }));
        else if (tool in OWN && !never.includes(tool)) return answer(tool);
        return undefined;
      },
    };
    create(
      createElement(() => {
        this.chat = useChat(options);
        queueMicrotask(() => this.#changed());
        return null;
      }),
    );
  }

  /** Waits until the screen is so. */
  async shows(is) {
    const seen = promise();
    this.#changed = () => {
      if (is(this.chat)) seen.resolve();
    };
    this.#changed();
    await seen.kept;
  }

  /** Ends when the chat neither waits for an answer nor would ask for more by itself. */
  async settles(begin) {
    await begin();
    await this.shows(rests);
    const late = this.#late.splice(0);
    if (late.length === 0) return;
    late.forEach((answer) => answer());
    await this.shows((chat) => !rests(chat));
    await this.shows(rests);
    // Whether it asks again is decided right after its rest.
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    await this.shows(rests);
  }

  say(content, attachments) {
    return this.chat.append({ role: 'user', content, experimental_attachments: attachments });
  }

  report() {
    const { status, error, data = [] } = this.chat;
    const messages = this.chat.messages.map(({ role, parts }) => ({ role, parts }));
    return report({ messages, status, error: error?.message, posts: this.#fetch.posts, calls: this.#calls, data });
  }
}

await play({
  ask: async (order) => {
    const app = new App(order);
    const attached = ({ mediaType, filename, url }) => ({ contentType: mediaType, name: filename, url });
    for (const { text, files } of order.messages) await app.settles(() => app.say(text, files?.map(attached)));
    return app.report();
  },
  anew: async (order) => {
    const app = new App(order);
    await app.settles(() => app.say(order.text));
    await app.settles(() => app.chat.reload());
    return app.report();
  },
  watch: async (order) => {
    const app = new App(order);
    const asking = app.settles(() => app.say(order.text));
    await app.shows(hasWords);
    say('reads', app.report());
    await asking;
    return app.report();
  },
  leave: async (order) => {
    const app = new App(order);
    const asking = app.say(order.text);
    await app.shows(order.during === 'tool' ? isTool : hasWords);
    say('reads');
    await told();
    app.chat.stop();
    await asking;
    await app.shows(rests);
    say('left', app.report());
    await told();
    await app.settles(() => app.say(order.then));
    return app.report();
  },
});
