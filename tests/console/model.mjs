// A model by the book, behind OpenAI's wire: what it says follows from what it is told, so that tests know the answer.
import { createServer } from 'node:http';

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Rules, the first that fits: what the user says, which tool that is, and with which arguments. */
const CALLS = [
  [/remind me to (.+)/i, /add_todo$/, (m) => ({ todo_item: m[1].replace(/[.!]$/, '') })],
  [/what is on my list|show my list/i, /get_todos$/, () => ({})],
  [/clear my list/i, /(clear|delete)\w*todos?$/, () => ({})],
  [/what time is it/i, /get_current_time$/, () => ({ timezone: 'Europe/Berlin' })],
  [/calculate (.+)/i, /calculate$/, (m) => ({ expression: m[1] })],
  [/open the (\w+) page/i, /open_page$/, (m) => ({ page: m[1].toLowerCase() })],
  [
    /chart/i,
    /show_chart$/,
    () => ({
      title: 'Apples',
      kind: 'bar',
      points: [
        { label: 'Mon', value: 3 },
        { label: 'Tue', value: 5 },
        { label: 'Wed', value: 2 },
      ],
    }),
  ],
  [/celebrate/i, /celebrate$/, () => ({})],
  [/call (\w+)(?: with (\{.*\}))?/i, (m) => new RegExp(`${m[1]}$`), (m) => JSON.parse(m[2] ?? '{}')],
];

const textOf = (content) => (typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join(''));

/** The next message of the model: words, or one call. */
function answer({ messages, tools = [], tool_choice }) {
  const last = messages.at(-1);
  if (last.role === 'tool') return { words: `Done: ${textOf(last.content).slice(0, 400)}` };
  const asked = textOf(messages.findLast((message) => message.role === 'user')?.content);
  if (tool_choice !== 'none') {
    for (const [heard, wanted, make] of CALLS) {
      const match = heard.exec(asked);
      const pattern = match && (typeof wanted === 'function' ? wanted(match) : wanted);
      const tool = match && tools.find((one) => pattern.test(one.function.name));
      if (tool) return { name: tool.function.name, arguments: JSON.stringify(make(match)) };
    }
  }
  if (/slowly/i.test(asked)) return { words: Array.from({ length: 40 }, (_, n) => `word${n}`).join(' '), halts: true };
  if (/hostile markdown/i.test(asked)) {
    const words =
      '## A title\n\n- **bold** words\n- [read more](https://evil.example/x?stolen)\n- [run me](javascript:alert(1))\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n![spy](https://evil.example/spy.png?stolen)\n\n<img src=https://evil.example/raw.png onerror=alert(1)><script>alert(2)</script>\n\nhttps://evil.example/plain';
    return { words };
  }
  if (/markdown/i.test(asked))
    return { words: '## A title\n\n- **bold** words\n- `code`\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n<img src=x onerror=alert(1)>' };
  return { words: `You said: ${asked}` };
}

/** Words of an answer that halts before it does. */
const BEFORE_HALT = 10;
const PACE_MS = 150;

/**
 * `asked`: what it was asked; `resume`: answers to what was asked so far go on to their end, whether they halted already or not.
 * What a test does in the middle of an answer it does while the answer halts, however long that takes. `paced`: such answers
 * come word by word instead.
 */
export async function startModel({ paced = false } = {}) {
  const asked = [];
  const halted = new Set();
  let resumed = 0;
  const halt = (response) =>
    new Promise((resolve) => {
      halted.add(resolve);
      response.on('close', resolve);
    });
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      response.setHeader('content-type', 'application/json');
      return response.end(JSON.stringify({ object: 'list', data: [{ id: 'brain', object: 'model' }] }));
    }
    let body = '';
    for await (const piece of request) body += piece;
    const question = JSON.parse(body);
    const number = asked.push(question);
    const said = answer(question);
    const base = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'brain' };
    const finish = said.name ? 'tool_calls' : 'stop';
    const call = said.name && { id: `call_${asked.length}`, type: 'function', function: { name: said.name, arguments: said.arguments } };
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    if (!question.stream) {
      const message = said.name ? { role: 'assistant', content: null, tool_calls: [call] } : { role: 'assistant', content: said.words };
      response.setHeader('content-type', 'application/json');
      return response.end(
        JSON.stringify({ ...base, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: finish }], usage }),
      );
    }
    response.setHeader('content-type', 'text/event-stream');
    const tell = (delta, finish_reason = null) =>
      response.write(`data: ${JSON.stringify({ ...base, choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    tell({ role: 'assistant' });
    if (call) tell({ tool_calls: [{ index: 0, ...call }] });
    else
      for (const [place, word] of said.words.split(/(?<= )/).entries()) {
        if (response.destroyed) return;
        tell({ content: word });
        if (said.halts && paced) await sleep(PACE_MS);
        else if (said.halts && place === BEFORE_HALT && number > resumed) await halt(response);
      }
    tell({}, finish);
    response.write(`data: ${JSON.stringify({ ...base, choices: [], usage })}\n\n`);
    response.end('data: [DONE]\n\n');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const resume = () => {
    resumed = asked.length;
    for (const goOn of halted) goOn();
    halted.clear();
  };
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${server.address().port}/v1`, asked, resume, close };
}
