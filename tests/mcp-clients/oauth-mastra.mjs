// Mastra's MCP client connects by OAuth. It never registers: it is known by its metadata document, whose URL is in the plan. It brings
// its own callback server.
import { MCPClient, MCPOAuthClientProvider } from '@mastra/mcp';
import { agreeAndReturn } from './consent.mjs';
import { plan, say } from './oauth.mjs';
import { freePort } from './ports.mjs';

const kept = new Map();
const storage = {
  get: (key) => kept.get(key),
  set: (key, value) => void kept.set(key, value),
  delete: (key) => void kept.delete(key),
};
let links = 0;
let browser;
// If the port is taken in the meantime, it takes the next.
const redirectUrl = `http://127.0.0.1:${await freePort()}/callback`;
const connect = () =>
  new MCPClient({
    // One client for each id.
    id: `oauth-${links}`,
    servers: {
      toolyard: {
        url: new URL(plan.url),
        authProvider: new MCPOAuthClientProvider({
          redirectUrl,
          clientMetadataUrl: plan.document,
          clientMetadata: { client_name: 'Mastra', redirect_uris: [redirectUrl] },
          storage,
          onRedirectToAuthorization: (link) => {
            links += 1;
            browser = agreeAndReturn(link, plan);
            browser.catch((error) => {
              throw error;
            });
          },
        }),
      },
    },
  });
const list = async (client) => {
  const { toolsets, errors } = await client.listToolsetsWithErrors();
  if (Object.keys(errors).length > 0) throw new Error(JSON.stringify(errors));
  return toolsets.toolyard;
};
const tokens = () => [...kept].filter(([, value]) => value.includes('"access_token"'));

const client = connect();
await client.authenticate('toolyard');
await browser;
const tools = await list(client);
const { content } = await tools.com_example_echo__echo.execute({ text: 'hi' }, {});
const { scope, refresh_token: before } = JSON.parse(tokens()[0][1]);
say('called', { tools: Object.keys(tools).length, answer: content[0].text, links, scope });

// An expired token is renewed without the user.
for (const [key, value] of tokens()) kept.set(key, JSON.stringify({ ...JSON.parse(value), access_token: 'expired' }));
const again = connect();
await list(again);
const after = JSON.parse(tokens()[0][1]);
say('renewed', { links, rotated: after.refresh_token !== before });
await again.disconnect();
await client.disconnect();
