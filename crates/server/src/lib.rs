//! The doors and the assembly.
//!
//! | look for | in |
//! | --- | --- |
//! | the process from configuration to drain | [`serve`] |
//! | its parts, put together | `assembly` |
//! | every route, who may use it | [`routes`] |
//! | who is asking | [`auth`] |
//! | what clients may hold open | `connections` |
//! | signals, the forced end, stuck workers | [`process`] |
//! | the doors: REST noun by noun, MCP, chat, the sockets of apps and devices | `doors` |
//! | words to sound and sound to words | `speech` |
//! | the web console's files | `console` |
//! | every setting | [`config`] |

mod assembly;
pub mod auth;
mod body;
mod builtin;
mod calls;
mod change_feed;
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
mod root_key;
pub mod routes;
pub mod secrets;
pub mod serve;
mod speech;
mod state;
pub mod telemetry;
mod tickets;

pub use console::{ConsoleFile, ConsoleFiles};
pub use lifecycle::Lifecycle;
pub use plugins::PluginRuntime;
pub use serve::{Server, ServerDependencies};
pub use speech::SpeechEngine;
pub use state::{ServerState, SharedState};
/// Which tools a model gets to see: for programs that measure how well they are chosen.
pub use toolyard_agent::shortlist;
/// What a program does that serves as a worker for plugins: for `toolyard` itself and for programs that embed the server.
pub use toolyard_sources::worker::{WORKER_ARGUMENT, WorkerCommand, serve_worker};
