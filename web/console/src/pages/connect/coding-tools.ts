/** Guides for editors and coding agents. */
import { cursorLink, vscodeLink } from './deep-links';
import { type ClientGuide, jsonText, SERVER_NAME } from './guide';

export const CODING_TOOLS: readonly ClientGuide[] = [
  {
    id: 'claude-code',
    name: 'Claude Code',
    kind: 'Coding agent in the terminal',
    steps: ['Run the commands. The second one opens this console. Older versions do not have it: enter `/mcp` in Claude Code instead.'],
    snippets: ({ url }) => [
      { label: 'Claude Code commands', text: `claude mcp add --transport http ${SERVER_NAME} ${url}\nclaude mcp login ${SERVER_NAME}` },
    ],
    identity: { names: ['Claude Code'], documents: ['https://claude.ai/oauth/claude-code-client-metadata'] },
  },
  {
    id: 'cursor',
    name: 'Cursor',
    kind: 'Code editor',
    steps: ['Use the button, or add this text to `~/.cursor/mcp.json`.', 'In the MCP settings of Cursor, connect toolyard.'],
    snippets: ({ url }) => [{ label: 'mcp.json of Cursor', text: jsonText({ mcpServers: { [SERVER_NAME]: { url } } }) }],
    link: (url) => ({ label: 'Add to Cursor', href: cursorLink(url) }),
    identity: { names: ['Cursor'] },
  },
  {
    id: 'vscode',
    name: 'VS Code',
    kind: 'Code editor with Copilot',
    steps: ['Use the button, or add this text to `.vscode/mcp.json` of a project.', 'Start the server. VS Code asks to sign in.'],
    snippets: ({ url }) => [{ label: 'mcp.json of VS Code', text: jsonText({ servers: { [SERVER_NAME]: { type: 'http', url } } }) }],
    link: (url) => ({ label: 'Add to VS Code', href: vscodeLink(url) }),
    identity: { names: ['Visual Studio Code'], hosts: ['vscode.dev', 'insiders.vscode.dev'] },
  },
  {
    id: 'windsurf',
    name: 'Windsurf',
    kind: 'Code editor',
    steps: ['Add this text to `~/.codeium/windsurf/mcp_config.json`.', 'Refresh the MCP servers in Cascade. Windsurf opens this console.'],
    snippets: ({ url }) => [
      { label: 'mcp_config.json of Windsurf', text: jsonText({ mcpServers: { [SERVER_NAME]: { serverUrl: url } } }) },
    ],
    identity: { names: ['Windsurf'] },
  },
  {
    id: 'zed',
    name: 'Zed',
    kind: 'Code editor',
    steps: ['Run `zed: open settings file` and add this text.', 'Zed asks to sign in and opens this console.'],
    snippets: ({ url }) => [{ label: 'settings.json of Zed', text: jsonText({ context_servers: { [SERVER_NAME]: { url } } }) }],
    identity: { names: ['Zed'], documents: ['https://zed.dev/oauth/client-metadata.json'] },
  },
  {
    id: 'codex',
    name: 'Codex',
    kind: 'Coding agent in the terminal',
    steps: ['Run the first command. Codex opens this console; if it does not, run the second one.'],
    snippets: ({ url }) => [{ label: 'Codex commands', text: `codex mcp add ${SERVER_NAME} --url ${url}\ncodex mcp login ${SERVER_NAME}` }],
    identity: { names: ['Codex'], documents: ['https://chatgpt.com/oauth/codex/client.json'] },
  },
  {
    id: 'gemini-cli',
    name: 'Gemini CLI',
    kind: 'Coding agent in the terminal',
    steps: ['Run the command.', `Start \`gemini\` and enter \`/mcp auth ${SERVER_NAME}\`.`],
    snippets: ({ url }) => [{ label: 'Gemini CLI command', text: `gemini mcp add --scope user --transport http ${SERVER_NAME} ${url}` }],
    identity: { names: ['Gemini CLI'] },
  },
];
