//! Guides for workflows and for programs that the user writes.

use super::guide::{
    ClientAuth, ClientGuide,
    SnippetLanguage::{Json, Python, Sh, Text, TypeScript},
    SnippetTemplate, TOKEN_PLACEHOLDER,
};

/// n8n accepts nodes that are pasted into a workflow.
const N8N_NODE: &str = r#"{
  "nodes": [
    {
      "name": "Toolyard",
      "type": "@n8n/n8n-nodes-langchain.mcpClientTool",
      "typeVersion": 1.2,
      "position": [
        0,
        0
      ],
      "parameters": {
        "endpointUrl": "{url}",
        "serverTransport": "httpStreamable",
        "authentication": "bearerAuth"
      }
    }
  ],
  "connections": {}
}"#;

const LANGCHAIN_CODE: &str = r#"# export TOOLYARD_TOKEN=YOUR_TOKEN
# pip install langchain-mcp-adapters
import asyncio, os
from langchain_mcp_adapters.client import MultiServerMCPClient

client = MultiServerMCPClient({
    "toolyard": {
        "transport": "streamable_http",
        "url": "{url}",
        "headers": {"Authorization": f"Bearer {os.environ['TOOLYARD_TOKEN']}"},
    }
})
tools = asyncio.run(client.get_tools())"#;

const OPENAI_SDK_CODE: &str = r#"# export TOOLYARD_TOKEN=YOUR_TOKEN
# pip install openai
import os
from openai import OpenAI

client = OpenAI(base_url="{base}/v1", api_key=os.environ["TOOLYARD_TOKEN"])
answer = client.chat.completions.create(
    model="",
    messages=[{"role": "user", "content": "What can you do for me?"}],
)
print(answer.choices[0].message.content)"#;

const AI_SDK_CODE: &str = r"// export TOOLYARD_TOKEN=YOUR_TOKEN
// npm install @ai-sdk/mcp
import { createMCPClient } from '@ai-sdk/mcp';

const client = await createMCPClient({
  transport: {
    type: 'http',
    url: '{url}',
    headers: { Authorization: `Bearer ${process.env.TOOLYARD_TOKEN}` },
  },
});
const tools = await client.tools();";

const CURL_COMMANDS: &str = r#"export TOOLYARD_TOKEN=YOUR_TOKEN
curl {base}/api/tools -H "Authorization: Bearer $TOOLYARD_TOKEN""#;

pub(super) const PROGRAMS: &[ClientGuide] = &[
    ClientGuide {
        id: "n8n",
        name: "n8n",
        kind: "Workflow automation",
        is_hosted: false,
        auth: &[ClientAuth::Token],
        steps: &[
            "Copy the node, paste it into a workflow, and connect it to an AI Agent as a tool.",
            "In the node, create a Bearer Auth credential with your token.",
        ],
        snippets: &[
            SnippetTemplate { language: Json, label: "n8n node", template: N8N_NODE },
            SnippetTemplate { language: Text, label: "n8n credential", template: TOKEN_PLACEHOLDER },
        ],
        link: None,
    },
    ClientGuide {
        id: "langchain",
        name: "LangChain",
        kind: "Agents in Python",
        is_hosted: false,
        auth: &[ClientAuth::Token],
        steps: &["Pass `tools` to your agent."],
        snippets: &[SnippetTemplate { language: Python, label: "LangChain code", template: LANGCHAIN_CODE }],
        link: None,
    },
    ClientGuide {
        id: "openai-sdk",
        name: "OpenAI SDK",
        kind: "Models of this server, with your tools",
        is_hosted: false,
        auth: &[ClientAuth::Token],
        steps: &[
            "This server answers like the OpenAI API and runs your tools itself. With an empty `model` it chooses one.",
        ],
        snippets: &[SnippetTemplate {
            language: Python,
            label: "OpenAI SDK code",
            template: OPENAI_SDK_CODE,
        }],
        link: None,
    },
    ClientGuide {
        id: "ai-sdk",
        name: "AI SDK",
        kind: "Agents in TypeScript",
        is_hosted: false,
        auth: &[ClientAuth::Token],
        steps: &["Pass `tools` to `generateText` or `streamText`."],
        snippets: &[SnippetTemplate { language: TypeScript, label: "AI SDK code", template: AI_SDK_CODE }],
        link: None,
    },
    ClientGuide {
        id: "curl",
        name: "curl",
        kind: "The REST API, from a shell",
        is_hosted: false,
        auth: &[ClientAuth::Token],
        steps: &["The command lists your tools. `POST /api/tools/execute` calls one."],
        snippets: &[SnippetTemplate { language: Sh, label: "curl command", template: CURL_COMMANDS }],
        link: None,
    },
];
