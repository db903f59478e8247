//! Words on the wire.
//!
//! Names, tool definitions, calls, results, error codes, device capabilities, session messages and the two legacy tool
//! schemas. Types and pure functions only: no I/O, no clock, no randomness. Everything else in the workspace, and
//! everybody who writes a peer, depends on this crate and on little more.
//!
//! | look for | in |
//! | --- | --- |
//! | `package:tool`, the alias | [`name`] |
//! | users, calls, app sessions, tokens | [`id`] |
//! | what a tool says of itself | [`tool`] |
//! | prompts and resources of apps | [`items`] |
//! | a call on its way to an app, and what comes back | [`call`], [`result`] |
//! | the error table | [`error`] |
//! | chat: requests, and the streams that clients read | [`chat`] |
//! | apps as they are registered, and the REST bodies | [`app`], [`api`] |
//! | glasses and what they can do | [`device`] |
//! | sockets of apps and devices | [`session`], [`stream`] |
//! | settings of a user that belong to no app | [`platform_settings`] |
//! | MCP, both eras; servers in the world | [`mcp`], [`upstream`] |
//! | plugins: manifests, and what they ask for | [`plugin`] |
//! | patterns of names | [`wildcard`] |
//! | JSON on one line, for formats of lines | [`line`](mod@line) |
//! | the forms before MCP | [`legacy`] |

#![warn(missing_docs)]

pub mod api;
pub mod app;
pub mod call;
pub mod chat;
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
pub mod platform_settings;
pub mod plugin;
pub mod problem;
pub mod raw;
pub mod result;
pub mod schema_expansion;
pub mod secret;
pub mod session;
pub mod stream;
pub mod tool;
pub mod trace;
pub mod upstream;
mod user_id;
pub mod visible;
pub mod wildcard;

pub use error::ErrorCode;
pub use id::{AppSessionId, CallId, TokenId, UserId};
pub use line::JsonLine;
pub use name::{InvalidName, LocalName, PackageName, ToolAlias, ToolName, ToolRef};
pub use platform_settings::PlatformSettings;
pub use problem::Problem;
