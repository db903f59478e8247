//! Talk to a server: chat as a stream of events, tools that run in this program, and plugins with hooks.
//!
//! | look for | in |
//! | --- | --- |
//! | a tool that runs here | [`tool`] |
//! | plugins: tools and hooks together | [`plugin`] |
//! | plugins that ship: files, pages, SQLite, MCP servers | [`plugins`] |

#![warn(missing_docs)]

pub mod plugin;
pub mod plugins;
pub mod tool;

pub use plugin::{Hooks, OwnTools, Plugin, PluginError};
pub use tool::{Tool, ToolContext, ToolError, create_dynamic_tool, create_tool};
pub use toolyard_protocol::chat::ClientTool;
