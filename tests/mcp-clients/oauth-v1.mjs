// The TypeScript SDK, version 1, connects by OAuth: it is refused, finds the server, registers, and comes back with a token.
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Memory, plan, say } from './oauth.mjs';

const memory = new Memory();
const transport = () => new StreamableHTTPClientTransport(new URL(plan.url), { authProvider: memory });
const client = () => new Client({ name: 'typescript-v1', version: '1.0.0' });

const first = transport();
await client()
  .connect(first)
  .then(
    () => {
      throw new Error('connected without a token');
    },
    (error) => {
      if (!(error instanceof UnauthorizedError)) throw error;
    },
  );
await first.finishAuth(memory.returned.get('code'));
const connected = client();
await connected.connect(transport());
const { tools } = await connected.listTools();
const { content } = await connected.callTool({ name: 'com_example_echo__echo', arguments: { text: 'hi' } });
say('called', { tools: tools.length, answer: content[0].text, links: memory.links, scope: memory.kept.tokens.scope });

// An expired token is renewed without the user.
memory.kept.tokens = { ...memory.kept.tokens, access_token: 'expired' };
const before = memory.kept.tokens.refresh_token;
const again = client();
await again.connect(transport());
say('renewed', { links: memory.links, rotated: memory.kept.tokens.refresh_token !== before });
await again.close();
await connected.close();
