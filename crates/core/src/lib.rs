//! The core of Toolyard: what a user can see, and the one way to run it.
//!
//! | look for | in |
//! | --- | --- |
//! | the life of a call, top to bottom | [`executor::Executor::call`] and `run` inside it |
//! | who sees which tools, and why not | [`catalog`] |
//! | argument validation, with errors that a model can act on | [`schema`] |
//! | allow or deny, rate limits | [`policy`] |
//! | asking the user before a call runs | [`approvals`] |
//! | the chain of the audit log | [`audit`] |
//! | secrets in results | [`redaction`] |
//! | no leaks by combination of harmless calls | [`data_flow`] |
//! | which definitions users get | [`pinning`] |
//! | results that are too long for a model | [`long_results`] |
//! | caches with a bound | [`bounded_cache`] |
//! | short-lived things of users, with limits per user | [`expiring_shelf`] |
//! | tools of one program, without a server | [`service`] |
//! | the traits that core needs from outside | [`ports`] |
//! | every limit of a call | [`limits`] |
//! | settings that change while the server runs | [`live_value`] |
//!
//! No HTTP, no SQL, no JavaScript. Sources, sessions, stores and doors use core, and do not know each other.

#![warn(missing_docs)]

pub mod approvals;
pub mod audit;
pub mod bounded_cache;
pub mod catalog;
pub mod data_flow;
pub mod error;
pub mod executor;
pub mod expiring_shelf;
pub mod limits;
pub mod live_value;
pub mod long_results;
pub mod pinning;
pub mod policy;
pub mod ports;
pub mod redaction;
pub mod schema;
pub mod service;
pub mod upstream_secrets;

pub use catalog::{Catalog, CatalogView, Tool};
pub use error::ToolError;
pub use executor::{CallContext, CallOwner, CallReply, Caller, Door, Executor, ToolCall};
pub use live_value::LiveValue;
