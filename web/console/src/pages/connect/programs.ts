/** Guides for workflows and for programs that the user writes. */
import { type ClientGuide, jsonText, SERVER_NAME, TOKEN_PLACEHOLDER } from './guide';

const SHOW_TOKEN = `export TOOLYARD_TOKEN=${TOKEN_PLACEHOLDER}`;

const langchainText = (url: string) => `# ${SHOW_TOKEN}
# pip install langchain-mcp-adapters
import asyncio, os
from langchain_mcp_adapters.client import MultiServerMCPClient

client = MultiServerMCPClient({
    "${SERVER_NAME}": {
        "transport": "streamable_http",
        "url": "${url}",
        "headers": {"Authorization": f"Bearer {os.environ['TOOLYARD_TOKEN']}"},
    }
})
tools = asyncio.run(client.get_tools())`;

const openaiText = (base: string) => `# ${SHOW_TOKEN}
# pip install openai
import os
from openai import OpenAI

client = OpenAI(base_url="${base}/v1", api_key=os.environ["TOOLYARD_TOKEN"])
answer = client.chat.completions.create(
    model="",
    messages=[{"role": "user", "content": "What can you do for me?"}],
)
print(answer.choices[0].message.content)`;

const aiSdkText = (url: string) => `// ${SHOW_TOKEN}
// npm install @ai-sdk/mcp
import { createMCPClient } from '@ai-sdk/mcp';

const client = await createMCPClient({
  transport: {
    type: 'http',
    url: '${url}',
    headers: { Authorization: \`Bearer \${process.env.TOOLYARD_TOKEN}\` },
  },
});
const tools = await client.tools();`;

/** n8n accepts nodes that are pasted into a workflow. */
const n8nNode = (url: string) =>
  jsonText({
    nodes: [
      {
        name: 'Toolyard',
        type: '@n8n/n8n-nodes-langchain.mcpClientTool',
        typeVersion: 1.2,
        position: [0, 0],
        parameters: { endpointUrl: url, serverTransport: 'httpStreamable', authentication: 'bearerAuth' },
      },
    ],
    connections: {},
  });

export const PROGRAMS: readonly ClientGuide[] = [
  {
    id: 'n8n',
    name: 'n8n',
    kind: 'Workflow automation',
    steps: [
      'Copy the node, paste it into a workflow, and connect it to an AI Agent as a tool.',
      'In the node, create a Bearer Auth credential with your token.',
    ],
    snippets: ({ url }) => [
      { label: 'n8n node', text: n8nNode(url) },
      { label: 'n8n credential', text: TOKEN_PLACEHOLDER },
    ],
    identity: { names: ['n8n'] },
  },
  {
    id: 'langchain',
    name: 'LangChain',
    kind: 'Agents in Python',
    steps: ['Pass `tools` to your agent.'],
    snippets: ({ url }) => [{ label: 'LangChain code', text: langchainText(url) }],
  },
  {
    id: 'openai-sdk',
    name: 'OpenAI SDK',
    kind: 'Models of this server, with your tools',
    steps: ['This server answers like the OpenAI API and runs your tools itself. With an empty `model` it chooses one.'],
    snippets: ({ base }) => [{ label: 'OpenAI SDK code', text: openaiText(base) }],
  },
  {
    id: 'ai-sdk',
    name: 'AI SDK',
    kind: 'Agents in TypeScript',
    steps: ['Pass `tools` to `generateText` or `streamText`.'],
    snippets: ({ url }) => [{ label: 'AI SDK code', text: aiSdkText(url) }],
  },
  {
    id: 'curl',
    name: 'curl',
    kind: 'The REST API, from a shell',
    steps: ['The command lists your tools. `POST /api/tools/execute` calls one.'],
    snippets: ({ base }) => [
      { label: 'curl command', text: `${SHOW_TOKEN}\ncurl ${base}/api/tools -H "Authorization: Bearer $TOOLYARD_TOKEN"` },
    ],
  },
];
