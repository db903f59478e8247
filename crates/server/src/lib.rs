//! The doors and the assembly.
//!
//! | look for | in |
//! | --- | --- |
//! | the process from configuration to drain | [`serve`] |
//! | how its parts are assembled | `assembly` |
//! | every route and its access rule | [`routes`] |
//! | authentication and authorization | [`auth`] |
//! | limits on connections, sockets and streams | `connections` |
//! | signals, forced exit, stuck workers | [`process`] |
//! | the doors: REST noun by noun, MCP, chat, the sockets of apps and devices | `doors` |
//! | verification of the audit log, without a running server | [`audit`] |
//! | text to speech and speech to text | `speech` |
//! | the web console's files | `console` |
//! | backups: writing, checking and restoring them | [`backup`] |
//! | every setting | [`config`] |

mod approval_events;
mod approval_webhook;
mod approvals;
mod assembly;
pub mod audit;
pub mod auth;
pub mod backup;
mod body;
mod builtin;
mod calls;
mod change_feed;
mod cluster;
pub mod config;
mod connections;
mod console;
mod doors;
pub mod embedded;
mod error;
mod events;
mod extract;
mod follow_changes;
mod hosts;
mod html_page;
mod icons;
mod lifecycle;
mod listen;
mod model_access;
pub mod models;
pub mod openapi;
mod parts;
mod plugins;
pub mod process;
mod proxy_headers;
pub mod reload;
mod reseal;
mod root_key;
pub mod routes;
pub mod secrets;
pub mod serve;
mod speech;
mod state;
pub mod telemetry;
mod uninterrupted;
mod web_push;

pub use console::{ConsoleFile, ConsoleFiles};
pub use doors::sign_in::check_issuers;
pub use lifecycle::Lifecycle;
pub use plugins::PluginRuntime;
pub use serve::{Server, ServerDependencies};
pub use speech::SpeechEngine;
pub use state::{ServerState, SharedState};
/// The entry point of worker processes, for `toolyard` itself and for programs that embed the server.
pub use toolyard_sources::worker::{WORKER_ARGUMENT, WorkerCommand, serve_worker};
