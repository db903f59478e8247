// The MCP client of the AI SDK connects by OAuth. The same steps as in `oauth-v1.mjs`.
import { auth, createMCPClient, UnauthorizedError } from '@ai-sdk/mcp';
import { Memory, plan, say } from './oauth.mjs';

const memory = new Memory();
const connect = () => createMCPClient({ transport: { type: 'http', url: plan.url, authProvider: memory } });

await connect().then(
  () => {
    throw new Error('connected without a token');
  },
  (error) => {
    if (!(error instanceof UnauthorizedError)) throw error;
  },
);
await auth(memory, {
  serverUrl: plan.url,
  authorizationCode: memory.returned.get('code'),
  callbackState: memory.returned.get('state'),
  callbackIssuer: memory.returned.get('iss'),
});
const client = await connect();
const tools = await client.tools();
const { content } = await tools.com_example_echo__echo.execute({ text: 'hi' }, { toolCallId: '1', messages: [] });
say('called', {
  tools: Object.keys(tools).length,
  answer: content[0].text,
  links: memory.links,
  scope: memory.kept.tokens.scope,
});

// An expired token is renewed without the user.
memory.kept.tokens = { ...memory.kept.tokens, access_token: 'expired' };
const before = memory.kept.tokens.refresh_token;
const again = await connect();
say('renewed', { links: memory.links, rotated: memory.kept.tokens.refresh_token !== before });
await again.close();
await client.close();
