//! The MCP door with apps as the source: both eras over HTTP and over sockets, through the real router.
//!
//! | look for | in |
//! | --- | --- |
//! | the client that asks | [`client`], [`line`] |
//! | what a request must carry, and how answers look | [`modern`], [`messages`], [`answers`] |
//! | handshakes and sessions | [`sessions`], [`session_ids`] |
//! | lists and pages | [`lists`], [`pages`] |
//! | calls | [`calls`], [`failures`], [`mirrored`], [`progress`], [`cancel`] |
//! | "the list changed" | [`ears`], [`changes`], [`silence`], [`filters`], [`streams`] |
//! | resources where an app has none | [`resources`] |
//! | who may do what | [`access`], [`sharing`] |
//! | WebSockets | [`sockets`], [`tickets`], [`stop`] |

mod access;
mod answers;
mod calls;
mod cancel;
mod changes;
pub(crate) mod client;
mod ears;
mod failures;
mod filters;
pub(crate) mod line;
mod lists;
mod messages;
mod mirrored;
mod modern;
mod pages;
mod progress;
mod resources;
mod session_ids;
mod sessions;
mod sharing;
mod silence;
mod sockets;
mod stop;
mod streams;
mod tickets;
