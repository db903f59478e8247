//! A client for a Toolyard server: chat as a stream of events, tools that run in this program, and plugins with hooks.
//!
//! ```no_run
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use toolyard_client_sdk::{Client, ToolContext, create_tool};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Where {
//!     /// A city.
//!     city: String,
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let weather = create_tool("weather", "The weather of a city.", |args: Where, _cx: ToolContext| async move {
//!         Ok::<_, std::fmt::Error>(format!("It rains in {}.", args.city))
//!     });
//!     let client = Client::builder("http://127.0.0.1:8787").user("ada@example.com").build()?;
//!     client.register_tool(weather)?;
//!     let answer = client.ask("Do I need an umbrella in Oslo?").await?;
//!     let next = client.ask(answer.and_then("And in Rome?")).await?;
//!     assert!(next.history.len() > answer.history.len());
//!     Ok(())
//! }
//! ```
//!
//! | look for | in |
//! | --- | --- |
//! | a server, and what you send to it | [`Client`], [`ChatQuestion`] |
//! | what comes back | [`ChatStream`], [`ChatEvent`], [`ChatAnswer`] |
//! | a tool that runs in this program | [`tool`] |
//! | plugins: tools and hooks together | [`plugin`] |
//! | built-in plugins: files, pages, SQLite, MCP servers | [`plugins`] |
//! | messages, as they are sent and stored | [`message`] |
//! | the transport to a server | [`wire`] |
//! | parsing the response stream | [`stream`] |

#![warn(missing_docs)]

pub mod chat;
pub mod client;
pub mod message;
pub mod plugin;
pub mod plugins;
pub mod stream;
pub mod tool;
pub mod wire;

pub use chat::{
    ApprovalDecision, ApprovalRequest, CallResult, ChatAnswer, ChatError, ChatEvent, ChatFinish, ChatStream,
};
pub use client::{ChatQuestion, Client, ClientBuildError, ClientBuilder};
pub use message::{Message, MessagePart, MessageRole};
pub use plugin::{HookError, Hooks, Plugin, PluginError, PluginManager, PluginTools, RequestDraft};
pub use tool::{
    CallRun, Tool, ToolCall, ToolContext, ToolError, ToolProgress, create_dynamic_tool, create_tool,
};
pub use toolyard_protocol::chat::{
    ClientTool, ClientToolLimits,
    ui::{ApprovalData, NoticeData, SignInData, ToolData},
};

/// The guide, included so that its examples are compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/client-sdk.md")]
struct ClientGuide;

/// The `tracing` target of this crate.
pub const TRACE_TARGET: &str = "toolyard_client";
