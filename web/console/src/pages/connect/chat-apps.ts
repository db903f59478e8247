/** Guides for programs to chat with. */
import { lmStudioLink, gooseLink } from './deep-links';
import { type ClientGuide, jsonText, SERVER_NAME, TOKEN_PLACEHOLDER } from './guide';

/** Connectors are stored in the user's Claude account, so one works in all apps of Claude. */
const CLAUDE_HOSTS = { hosts: ['claude.ai', 'claude.com'] };

export const CHAT_APPS: readonly ClientGuide[] = [
  {
    id: 'claude',
    name: 'Claude (web)',
    kind: 'Chat on claude.ai and in the mobile apps',
    isHosted: true,
    steps: [
      'In Claude, open Customize, Connectors.',
      'Select +, then Add custom connector. Enter the name Toolyard and this address.',
      'Select Connect. This console opens and asks what Claude may do.',
    ],
    snippets: ({ url }) => [{ label: 'address for Claude', text: url }],
    link: () => ({ label: 'Open connectors in Claude', href: 'https://claude.ai/customize/connectors' }),
    identity: CLAUDE_HOSTS,
  },
  {
    id: 'claude-desktop',
    name: 'Claude Desktop',
    kind: 'Chat app for macOS and Windows',
    steps: [
      'If this server is reachable from the internet over https, add a connector as in Claude (web). It also works in Claude Desktop.',
      'Otherwise open Settings, Developer, Edit Config, add the text below with a token, and restart Claude. The program `toolyard` must be installed on that computer; use its full path.',
    ],
    snippets: ({ url, base }) => [
      { label: 'connector address for Claude Desktop', text: url },
      {
        label: 'claude_desktop_config.json',
        text: jsonText({
          mcpServers: {
            [SERVER_NAME]: {
              command: '/usr/local/bin/toolyard',
              args: ['mcp', '--server', base],
              env: { TOOLYARD_TOKEN: TOKEN_PLACEHOLDER },
            },
          },
        }),
      },
    ],
    identity: CLAUDE_HOSTS,
  },
  {
    id: 'chatgpt',
    name: 'ChatGPT',
    kind: 'Chat on chatgpt.com',
    isHosted: true,
    steps: [
      'In ChatGPT on the web, open Settings, Security and login, and turn on Developer mode.',
      'Open Plugins, select + and then Add custom MCP server. Enter the name Toolyard and this address.',
      'Select OAuth and create the plugin. This console opens and asks what ChatGPT may do.',
    ],
    snippets: ({ url }) => [{ label: 'address for ChatGPT', text: url }],
    link: () => ({ label: 'Open plugins in ChatGPT', href: 'https://chatgpt.com/plugins' }),
    identity: { hosts: ['chatgpt.com'] },
  },
  {
    id: 'goose',
    name: 'goose',
    kind: 'Agent for the desktop and the terminal',
    steps: ['In goose Desktop, use the button.', 'In the terminal, run the command. goose opens this console to ask what it may do.'],
    snippets: ({ url }) => [{ label: 'goose command', text: `goose session --with-streamable-http-extension "${url}"` }],
    link: (url) => ({ label: 'Add to goose', href: gooseLink(url) }),
    identity: { names: ['goose'] },
  },
  {
    id: 'lm-studio',
    name: 'LM Studio',
    kind: 'Local models on the desktop',
    steps: [
      'Use the button, or select Install, Edit mcp.json in the Program tab and add this text.',
      'LM Studio opens this console to ask what it may do. Versions before 0.4 need a header with a token instead.',
    ],
    snippets: ({ url }) => [{ label: 'mcp.json of LM Studio', text: jsonText({ mcpServers: { [SERVER_NAME]: { url } } }) }],
    link: (url) => ({ label: 'Add to LM Studio', href: lmStudioLink(url) }),
    identity: { names: ['LM Studio'] },
  },
  {
    id: 'open-webui',
    name: 'Open WebUI',
    kind: 'Chat interface that you host',
    steps: [
      'As an administrator, open Admin Settings, External Tools and select +.',
      'Enter these values. All users of Open WebUI then act with the permissions of the token.',
    ],
    snippets: ({ url }) => [
      {
        label: 'values for Open WebUI',
        text: ['Type: MCP (Streamable HTTP)', `URL: ${url}`, 'Auth: Bearer', `Key: ${TOKEN_PLACEHOLDER}`].join('\n'),
      },
    ],
    identity: { names: ['Open WebUI'] },
  },
];
