//! Guides for programs to chat with.

use super::{
    guide::{
        ClientAuth, ClientGuide, ClientLink,
        SnippetLanguage::{Json, Sh, Text},
        SnippetTemplate,
    },
    links,
};

/// Claude Desktop starts `toolyard mcp`, which needs no address that the internet can reach.
const CLAUDE_DESKTOP_CONFIG: &str = r#"{
  "mcpServers": {
    "toolyard": {
      "command": "/usr/local/bin/toolyard",
      "args": [
        "mcp",
        "--server",
        "{base}"
      ],
      "env": {
        "TOOLYARD_TOKEN": "YOUR_TOKEN"
      }
    }
  }
}"#;

const LM_STUDIO_CONFIG: &str = r#"{
  "mcpServers": {
    "toolyard": {
      "url": "{url}"
    }
  }
}"#;

const OPEN_WEBUI_VALUES: &str = "\
Type: MCP (Streamable HTTP)
URL: {url}
Auth: Bearer
Key: YOUR_TOKEN";

pub(super) const CHAT_APPS: &[ClientGuide] = &[
    ClientGuide {
        id: "claude",
        name: "Claude (web)",
        kind: "Chat on claude.ai and in the mobile apps",
        is_hosted: true,
        auth: &[ClientAuth::OAuth],
        steps: &[
            "In Claude, open Customize, Connectors.",
            "Select +, then Add custom connector. Enter the name Toolyard and this address.",
            "Select Connect. The console of this server opens and asks what Claude may do.",
        ],
        snippets: &[SnippetTemplate { language: Text, label: "address for Claude", template: "{url}" }],
        link: Some(ClientLink::Page("https://claude.ai/customize/connectors")),
    },
    ClientGuide {
        id: "claude-desktop",
        name: "Claude Desktop",
        kind: "Chat app for macOS and Windows",
        is_hosted: false,
        auth: &[ClientAuth::OAuth, ClientAuth::Token],
        steps: &[
            "If this server is reachable from the internet over https, add a connector as in Claude (web), see \
             `toolyard connect claude`. It also works in Claude Desktop.",
            "Otherwise open Settings, Developer, Edit Config, add the text of `claude_desktop_config.json` with a token, and \
             restart Claude. The program `toolyard` must be installed on that computer; use its full path.",
        ],
        snippets: &[
            SnippetTemplate {
                language: Text,
                label: "connector address for Claude Desktop",
                template: "{url}",
            },
            SnippetTemplate {
                language: Json,
                label: "claude_desktop_config.json",
                template: CLAUDE_DESKTOP_CONFIG,
            },
        ],
        link: None,
    },
    ClientGuide {
        id: "chatgpt",
        name: "ChatGPT",
        kind: "Chat on chatgpt.com",
        is_hosted: true,
        auth: &[ClientAuth::OAuth],
        steps: &[
            "In ChatGPT on the web, open Settings, Security and login, and turn on Developer mode.",
            "Open Plugins, select + and then Add custom MCP server. Enter the name Toolyard and this address.",
            "Select OAuth and create the plugin. The console of this server opens and asks what ChatGPT may do.",
        ],
        snippets: &[SnippetTemplate { language: Text, label: "address for ChatGPT", template: "{url}" }],
        link: Some(ClientLink::Page("https://chatgpt.com/plugins")),
    },
    ClientGuide {
        id: "goose",
        name: "goose",
        kind: "Agent for the desktop and the terminal",
        is_hosted: false,
        auth: &[ClientAuth::OAuth],
        steps: &[
            "For goose Desktop, open the link.",
            "In the terminal, run the command. goose opens the console of this server to ask what it may do.",
        ],
        snippets: &[SnippetTemplate {
            language: Sh,
            label: "goose command",
            template: "goose session --with-streamable-http-extension {url}",
        }],
        link: Some(ClientLink::Program(links::goose_link)),
    },
    ClientGuide {
        id: "lm-studio",
        name: "LM Studio",
        kind: "Local models on the desktop",
        is_hosted: false,
        auth: &[ClientAuth::OAuth],
        steps: &[
            "Open the link, or select Install, Edit mcp.json in the Program tab and add this text.",
            "LM Studio opens the console of this server to ask what it may do. Versions before 0.4 need a header with a token \
             instead.",
        ],
        snippets: &[SnippetTemplate {
            language: Json,
            label: "mcp.json of LM Studio",
            template: LM_STUDIO_CONFIG,
        }],
        link: Some(ClientLink::Program(links::lm_studio_link)),
    },
    ClientGuide {
        id: "open-webui",
        name: "Open WebUI",
        kind: "Chat interface that you host",
        is_hosted: false,
        auth: &[ClientAuth::Token],
        steps: &[
            "As an administrator, open Admin Settings, External Tools and select +.",
            "Enter these values. All users of Open WebUI then act with the permissions of the token.",
        ],
        snippets: &[SnippetTemplate {
            language: Text,
            label: "values for Open WebUI",
            template: OPEN_WEBUI_VALUES,
        }],
        link: None,
    },
];
