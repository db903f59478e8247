//! The Model Context Protocol as a client: stdio, HTTP and WebSocket, the handshake era and the modern one.
//!
//! Thin and raw: results stay as they came, so one unreadable item never loses the rest, and nothing is dropped on the
//! way through. The crate knows nothing of the platform and can be used without it.
//!
//! | look for | in |
//! | --- | --- |
//! | where a server is, how a client is created | `transport`, `options` |
//! | connecting, requests, closing | `client` |
//! | era and revision | `negotiate` |
//! | options of a request, and the message that is sent | `request`, `reply` |
//! | deadlines, lost sessions | `link`, `session` |
//! | lists, tools | `list`, `tools` |
//! | events and requests of the server | `events`, `watch`, `server_request` |
//! | how messages travel | `wire`, `http`, `pipe` |
//!
//! Deliberately absent: a cache, reconnecting to a process or socket that is gone (create a new client), and the old
//! HTTP+SSE transport.

mod client;
mod credentials;
mod error;
mod events;
mod http;
mod hub;
mod inbox;
mod level;
mod limits;
mod link;
mod list;
mod negotiate;
#[cfg(feature = "oauth")]
pub mod oauth;
mod options;
mod pipe;
mod reply;
mod request;
mod server;
mod server_request;
mod session;
mod tasks;
mod tools;
mod transport;
mod watch;
mod wire;

pub use client::McpClient;
pub use credentials::{AuthChallenge, Credentials, CredentialsError, StaticHeaders};
pub use error::McpClientError;
pub use events::{CloseReason, ServerEvent, ServerEvents};
pub use limits::ClientLimits;
pub use list::{RejectedTool, UpstreamListKind, UpstreamListing};
pub use options::{ClientInfo, ClientOptions, ProtocolEra};
pub use reply::UpstreamReply;
pub use request::RequestOptions;
pub use server::ServerDescription;
pub use server_request::ServerRequest;
pub use tools::{ChangeGuard, ToolCallParams};
pub use transport::{HttpTarget, McpTransport, StdioCommand, WebSocketTarget};
pub use watch::ChangeFilter;
