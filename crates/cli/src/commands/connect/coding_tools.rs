//! Guides for editors and coding agents.

use super::{
    guide::{
        ClientAuth, ClientGuide, ClientLink,
        SnippetLanguage::{Json, Sh},
        SnippetTemplate,
    },
    links,
};

const CLAUDE_CODE_COMMANDS: &str = "\
claude mcp add --transport http toolyard {url}
claude mcp login toolyard";

const CURSOR_CONFIG: &str = r#"{
  "mcpServers": {
    "toolyard": {
      "url": "{url}"
    }
  }
}"#;

const VSCODE_CONFIG: &str = r#"{
  "servers": {
    "toolyard": {
      "type": "http",
      "url": "{url}"
    }
  }
}"#;

const WINDSURF_CONFIG: &str = r#"{
  "mcpServers": {
    "toolyard": {
      "serverUrl": "{url}"
    }
  }
}"#;

const ZED_SETTINGS: &str = r#"{
  "context_servers": {
    "toolyard": {
      "url": "{url}"
    }
  }
}"#;

const CODEX_COMMANDS: &str = "\
codex mcp add toolyard --url {url}
codex mcp login toolyard";

pub(super) const CODING_TOOLS: &[ClientGuide] = &[
    ClientGuide {
        id: "claude-code",
        name: "Claude Code",
        kind: "Coding agent in the terminal",
        is_hosted: false,
        auth: &[ClientAuth::OAuth],
        steps: &[
            "Run the commands. The second one opens the console of this server. Older versions do not have it: enter `/mcp` in \
             Claude Code instead.",
        ],
        snippets: &[SnippetTemplate {
            language: Sh,
            label: "Claude Code commands",
            template: CLAUDE_CODE_COMMANDS,
        }],
        link: None,
    },
    ClientGuide {
        id: "cursor",
        name: "Cursor",
        kind: "Code editor",
        is_hosted: false,
        auth: &[ClientAuth::OAuth],
        steps: &[
            "Open the link, or add this text to `~/.cursor/mcp.json`.",
            "In the MCP settings of Cursor, connect toolyard.",
        ],
        snippets: &[SnippetTemplate { language: Json, label: "mcp.json of Cursor", template: CURSOR_CONFIG }],
        link: Some(ClientLink::Program(links::cursor_link)),
    },
    ClientGuide {
        id: "vscode",
        name: "VS Code",
        kind: "Code editor with Copilot",
        is_hosted: false,
        auth: &[ClientAuth::OAuth],
        steps: &[
            "Open the link, or add this text to `.vscode/mcp.json` of a project.",
            "Start the server. VS Code asks to sign in.",
        ],
        snippets: &[SnippetTemplate {
            language: Json,
            label: "mcp.json of VS Code",
            template: VSCODE_CONFIG,
        }],
        link: Some(ClientLink::Program(links::vscode_link)),
    },
    ClientGuide {
        id: "windsurf",
        name: "Windsurf",
        kind: "Code editor",
        is_hosted: false,
        auth: &[ClientAuth::OAuth],
        steps: &[
            "Add this text to `~/.codeium/windsurf/mcp_config.json`.",
            "Refresh the MCP servers in Cascade. Windsurf opens the console of this server.",
        ],
        snippets: &[SnippetTemplate {
            language: Json,
            label: "mcp_config.json of Windsurf",
            template: WINDSURF_CONFIG,
        }],
        link: None,
    },
    ClientGuide {
        id: "zed",
        name: "Zed",
        kind: "Code editor",
        is_hosted: false,
        auth: &[ClientAuth::OAuth],
        steps: &[
            "Run `zed: open settings file` and add this text.",
            "Zed asks to sign in and opens the console of this server.",
        ],
        snippets: &[SnippetTemplate {
            language: Json,
            label: "settings.json of Zed",
            template: ZED_SETTINGS,
        }],
        link: None,
    },
    ClientGuide {
        id: "codex",
        name: "Codex",
        kind: "Coding agent in the terminal",
        is_hosted: false,
        auth: &[ClientAuth::OAuth],
        steps: &[
            "Run the first command. Codex opens the console of this server; if it does not, run the second one.",
        ],
        snippets: &[SnippetTemplate { language: Sh, label: "Codex commands", template: CODEX_COMMANDS }],
        link: None,
    },
    ClientGuide {
        id: "gemini-cli",
        name: "Gemini CLI",
        kind: "Coding agent in the terminal",
        is_hosted: false,
        auth: &[ClientAuth::OAuth],
        steps: &["Run the command.", "Start `gemini` and enter `/mcp auth toolyard`."],
        snippets: &[SnippetTemplate {
            language: Sh,
            label: "Gemini CLI command",
            template: "gemini mcp add --scope user --transport http toolyard {url}",
        }],
        link: None,
    },
];
