//! The core of Toolyard: what a user can see, and the one way to run it.
//!
//! | look for | in |
//! | --- | --- |
//! | the life of a call, top to bottom | [`executor::Executor::call`] and `run` inside it |
//! | who sees which tools, and why not | [`catalog`] |
//! | argument validation, with errors that a model can act on | [`schema`] |
//! | allow or deny, rate limits | [`policy`] |
//! | results that are too long for a model | [`long_results`] |
//! | tools of one program, without a server | [`service`] |
//! | the traits that core needs from outside | [`ports`] |
//! | every limit of a call | [`limits`] |
//!
//! No HTTP, no SQL, no JavaScript. Sources, sessions, stores and doors use core, and do not know each other.

#![warn(missing_docs)]

pub mod catalog;
pub mod error;
pub mod executor;
pub mod limits;
pub mod long_results;
pub mod policy;
pub mod ports;
pub mod schema;
pub mod service;
pub mod upstream_secrets;

pub use catalog::{Catalog, CatalogView, Tool};
pub use error::ToolError;
pub use executor::{CallContext, CallOwner, CallReply, Caller, Door, Executor, ToolCall};
