// Mastra's MCP client, over HTTP and over stdio. It calls what it listed, by the name in the list, and nothing else.
import { MCPClient } from '@mastra/mcp';
import { ANSWER, bell, plan, play, text } from './story.mjs';

const where = plan.command ?? { url: new URL(plan.url), requestInit: { headers: plan.headers } };
const questions = [];
const client = new MCPClient({
  servers: {
    toolyard: {
      ...where,
      protocolVersion: plan.era,
      enableProgressTracking: true,
      inputRequests: async ({ params }) => {
        questions.push(params.message);
        return ANSWER;
      },
    },
  },
});

const changes = bell();
let [tools, hear] = [{}, undefined];
const list = async () => {
  const { toolsets, errors } = await client.listToolsetsWithErrors();
  if (Object.keys(errors).length > 0) throw new Error(JSON.stringify(errors));
  tools = toolsets.toolyard;
  return Object.keys(tools);
};
await list();
await client.progress.onUpdate('toolyard', (told) => hear?.(told));
if (plan.steps.includes('change')) await client.tools.onListChanged('toolyard', changes.ring);

await play(
  {
    list,
    call: async (name, args, { onProgress, signal } = {}) => {
      hear = onProgress;
      return text(await tools[name].execute(args, { abortSignal: signal }));
    },
    changed: changes.heard,
    questions,
  },
  client.getServerProtocolVersions().toolyard,
);
await client.disconnect();
