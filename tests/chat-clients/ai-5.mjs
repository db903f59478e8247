// The AI SDK, version 5 and later: its chat without a screen, as its bindings for React, Vue and Svelte build on it.
import { OWN, counting, plan, play, promise, report, say, told } from './story.mjs';

const {
  AbstractChat,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses: hasApprovalResponses = () => false,
  lastAssistantMessageIsCompleteWithToolCalls: hasToolResults,
} = await import(plan.client);

/** What the bindings keep in a store of their framework. */
class State {
  status = 'ready';
  error = undefined;
  changed = () => {};
  #messages = [];

  get messages() {
    return this.#messages;
  }
  set messages(messages) {
    this.#messages = messages;
    this.changed();
  }

  pushMessage = (message) => {
    this.messages = [...this.messages, message];
  };
  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index, message) => {
    this.messages = this.messages.with(index, structuredClone(message));
  };
  snapshot = (value) => structuredClone(value);
}

/** A chat as an app sets it up. Of its own tools, those in `late` answer when the stream has ended, in `never` not at all. */
class Chat extends AbstractChat {
  #fetch;
  #calls = [];
  #data = [];
  #late = [];
  #answering = 0;
  #settled = promise();

  constructor({ id, body, late = [], never = [] }) {
    const fetch = counting();
    super({
      id,
      state: new State(),
      transport: new DefaultChatTransport({ api: `${plan.url}/api/chat`, headers: plan.headers, body, fetch }),
      onToolCall: ({ toolCall }) => {
        this.#calls.push(toolCall.toolName);
        if (late.includes(toolCall.toolName)) this.#late.push(() => this.#answer(toolCall));
        else if (!never.includes(toolCall.toolName)) this.#answer(toolCall);
      },
      onData: (part) => {
        this.#data.push(part);
      },
      sendAutomaticallyWhen: (now) => this.#asksAgain(hasToolResults(now) || hasApprovalResponses(now)),
    });
    this.#fetch = fetch;
  }

  // Who waits for this in `onToolCall` waits for ever.
  #answer({ toolName: tool, toolCallId }) {
    try {
      this.addToolOutput({ tool, toolCallId, output: OWN[tool]() });
    } catch (error) {
      this.addToolOutput({ tool, toolCallId, state: 'output-error', errorText: error.message });
    }
  }

  // Asked when a stream has ended, and for each answer after that.
  #asksAgain(again) {
    this.#answering = Math.max(0, this.#answering - 1);
    const late = this.#late.splice(0);
    if (late.length > 0) {
      this.#answering = late.length;
      // The chat must have come to its rest before it hears more.
      setImmediate(() => late.forEach((answer) => answer()));
    } else if (!again && this.#answering === 0) {
      this.#settled.resolve();
    }
    return again;
  }

  /** Ends when the chat neither waits for an answer nor would ask for more by itself. */
  async settles(begin) {
    this.#settled = promise();
    await begin();
    if (this.status !== 'error') await this.#settled.kept;
  }

  /** Waits until something is in the answer. */
  async shows(is) {
    const seen = promise();
    this.state.changed = () => {
      if (this.lastMessage?.role === 'assistant' && this.lastMessage.parts.some(is)) seen.resolve();
    };
    this.state.changed();
    await seen.kept;
  }

  report() {
    const { status, error } = this;
    // Some versions also keep what was written of a call that never became one, and the ids of thoughts.
    const shown = ({ rawInput, id, ...part }) => (part.type === 'reasoning' || id === undefined ? part : { ...part, id });
    const messages = this.messages.map(({ role, parts }) => ({ role, parts: parts.map(shown) }));
    return report({ messages, status, error: error?.message, posts: this.#fetch.posts, calls: this.#calls, data: this.#data });
  }
}

const hasWords = (part) => part.type === 'text' && part.text !== '';
const isTool = (part) => part.type.startsWith('tool-') && part.state === 'input-available';

await play({
  ask: async (order) => {
    const chat = new Chat(order);
    for (const message of order.messages) await chat.settles(() => chat.sendMessage(message));
    return chat.report();
  },
  // The user is asked, and answers when the test says so.
  approve: async (order) => {
    const chat = new Chat(order);
    await chat.settles(() => chat.sendMessage({ text: order.text }));
    say('asked', chat.report());
    await told();
    const inState = (state) => chat.lastMessage.parts.find((part) => part.state === state);
    const { id } = inState('approval-requested').approval;
    await chat.settles(() => chat.addToolApprovalResponse({ id, ...order.answer }));
    // Before 6.0.158 calls that the server runs do not count, so the app sends the answer itself.
    if (inState('approval-responded')) await chat.settles(() => chat.sendMessage());
    return chat.report();
  },
  anew: async (order) => {
    const chat = new Chat(order);
    await chat.settles(() => chat.sendMessage({ text: order.text }));
    await chat.settles(() => chat.regenerate());
    return chat.report();
  },
  watch: async (order) => {
    const chat = new Chat(order);
    const asking = chat.settles(() => chat.sendMessage({ text: order.text }));
    await chat.shows(hasWords);
    say('reads', chat.report());
    await asking;
    return chat.report();
  },
  leave: async (order) => {
    const chat = new Chat(order);
    const asking = chat.sendMessage({ text: order.text });
    await chat.shows(order.during === 'tool' ? isTool : hasWords);
    say('reads');
    await told();
    await chat.stop();
    await asking;
    say('left', chat.report());
    await told();
    await chat.settles(() => chat.sendMessage({ text: order.then }));
    return chat.report();
  },
  // A page that kept the answer, and asks all the same whether there is more of it.
  kept: async (order) => {
    const chat = new Chat(order);
    await chat.settles(() => chat.sendMessage({ text: order.text }));
    await chat.resumeStream();
    return chat.report();
  },
  resume: async (order) => {
    const [first, second, other] = [new Chat(order), new Chat(order), new Chat({ ...order, id: 'another' })];
    const asking = first.settles(() => first.sendMessage({ text: order.text }));
    await first.shows(hasWords);
    // Whoever opens the page anew has what was kept: the question.
    second.messages = first.messages.slice(0, 1);
    const resuming = second.settles(() => second.resumeStream());
    await second.shows(hasWords);
    await other.resumeStream();
    say('resumes', { first: first.report(), second: second.report(), other: other.report() });
    await Promise.all([asking, resuming]);
    return { first: first.report(), second: second.report() };
  },
});
