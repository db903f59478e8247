//! The MCP door with apps as the source: both eras over HTTP and over sockets, through the real router.
//!
//! | look for | in |
//! | --- | --- |
//! | the test client | [`client`], [`line`] |
//! | the format of requests and responses | [`modern`], [`messages`], [`answers`] |
//! | handshakes and sessions | [`sessions`], [`session_ids`] |
//! | lists and pages | [`lists`], [`pages`] |
//! | calls | [`calls`], [`failures`], [`mirrored`], [`progress`], [`cancel`] |
//! | notifications about changed lists | [`ears`], [`changes`], [`silence`], [`filters`], [`streams`] |
//! | calls that the user has to approve | [`approvals`], [`trusted`] |
//! | resources of apps that have none | [`resources`] |
//! | access and isolation | [`access`], [`sharing`] |
//! | WebSockets | [`sockets`], [`tickets`], [`stop`] |

mod access;
mod answers;
pub(crate) mod approvals;
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
mod tasks;
mod tickets;
mod trusted;
