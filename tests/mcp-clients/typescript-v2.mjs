// The TypeScript SDK, version 2: both eras, over HTTP and over stdio.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { abilities, answerTo, bell, plan, play, text } from './story.mjs';

const line = plan.command
  ? new StdioClientTransport(plan.command)
  : new StreamableHTTPClientTransport(new URL(plan.url), { requestInit: { headers: plan.headers } });
const [changes, questions] = [bell(), []];
const client = new Client(
  { name: 'typescript-v2', version: '1.0.0' },
  {
    capabilities: abilities({ form: {} }),
    versionNegotiation: { mode: plan.era },
    listChanged: { tools: { autoRefresh: false, onChanged: changes.ring } },
  },
);
client.setRequestHandler('elicitation/create', ({ params }) => answerTo(params, questions));
await client.connect(line);

await play(
  {
    // Without a cursor the SDK walks all pages.
    list: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: async (name, args, { onProgress, signal } = {}) =>
      text(await client.callTool({ name, arguments: args }, { onprogress: onProgress, signal })),
    changed: changes.heard,
    questions,
  },
  client.getNegotiatedProtocolVersion(),
);
await line.terminateSession?.();
await client.close();
