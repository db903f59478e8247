//! The wire protocol of the platform.
//!
//! Names, tool definitions, calls, results, error codes, device capabilities, session messages and the two legacy tool
//! schemas. Types and pure functions only: no I/O, no clock, no randomness. Every other crate depends on this one, and so can
//! the peers of the platform.
//!
//! | look for | in |
//! | --- | --- |
//! | `package:tool`, aliases | [`name`] |
//! | users, calls, app sessions, tokens | [`id`] |
//! | tool definitions | [`tool`] |
//! | prompts and resources of apps | [`items`] |
//! | calls to apps and their replies | [`call`], [`result`] |
//! | the error table | [`error`] |
//! | approvals of calls | [`approval`] |
//! | actions and entries of the audit log | [`audit`] |
//! | chat requests and response streams | [`chat`] |
//! | app registration and REST bodies | [`app`], [`api`] |
//! | devices and their capabilities | [`device`] |
//! | WebSocket messages of apps and devices | [`session`], [`stream`] |
//! | platform settings of a user | [`platform_settings`] |
//! | MCP, both eras; upstreams | [`mcp`], [`upstream`] |
//! | plugin manifests and permissions | [`plugin`] |
//! | name patterns | [`wildcard`] |
//! | JSON on one line, for line-based formats | [`line`](mod@line) |
//! | formats before MCP | [`legacy`] |

#![warn(missing_docs)]

pub mod accounts;
pub mod api;
pub mod app;
pub mod approval;
pub mod audit;
pub mod call;
pub mod chat;
pub mod definitions;
pub mod device;
pub mod error;
pub mod id;
pub mod items;
pub mod legacy;
pub mod line;
pub mod log_text;
pub mod mcp;
pub mod name;
pub mod name_hash;
pub mod oauth;
pub mod platform_settings;
pub mod plugin;
pub mod problem;
pub mod push;
pub mod raw;
pub mod result;
pub mod schema_expansion;
pub mod secret;
pub mod session;
pub mod stream;
pub mod text;
pub mod tool;
pub mod trace;
pub mod upstream;
mod user_id;
pub mod visible;
pub mod wildcard;

pub use error::ErrorCode;
pub use id::{AppSessionId, ApprovalId, CallId, DefinitionChangeId, PushSubscriptionId, TokenId, UserId};
pub use line::JsonLine;
pub use name::{InvalidName, LocalName, PackageName, ToolAlias, ToolName, ToolRef};
pub use platform_settings::PlatformSettings;
pub use problem::Problem;
