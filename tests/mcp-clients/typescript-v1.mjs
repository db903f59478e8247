// The TypeScript SDK, version 1: over HTTP, over a WebSocket, over stdio.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js';
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { abilities, answerTo, bell, plan, play, text } from './story.mjs';

function transport() {
  if (plan.command) return new StdioClientTransport(plan.command);
  if (plan.url.startsWith('ws')) return new WebSocketClientTransport(new URL(plan.url));
  return new StreamableHTTPClientTransport(new URL(plan.url), { requestInit: { headers: plan.headers } });
}

const client = new Client({ name: 'typescript-v1', version: '1.0.0' }, { capabilities: abilities({}) });
const [changes, questions] = [bell(), []];
client.setNotificationHandler(ToolListChangedNotificationSchema, changes.ring);
client.setRequestHandler(ElicitRequestSchema, ({ params }) => answerTo(params, questions));
const line = transport();
let revision;
// Of what was agreed on, the SDK tells its transport alone.
const set = line.setProtocolVersion?.bind(line);
line.setProtocolVersion = (version) => {
  revision = version;
  set?.(version);
};
await client.connect(line);

await play(
  {
    list: async () => {
      const names = [];
      let cursor;
      do {
        const page = await client.listTools({ cursor });
        names.push(...page.tools.map((tool) => tool.name));
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      return names;
    },
    call: async (name, args, { onProgress, signal } = {}) =>
      text(await client.callTool({ name, arguments: args }, undefined, { onprogress: onProgress, signal })),
    changed: changes.heard,
    questions,
  },
  revision,
);
await line.terminateSession?.();
await client.close();
