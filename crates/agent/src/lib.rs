//! The turn of a chat: ask a model, run what it calls, ask again, until it stops, a budget ends it, or a client must act.
//!
//! | look for | in |
//! | --- | --- |
//! | the turn, and its bounds | [`turn`] |
//! | what it tells while it runs | [`event`] |
//! | what can be called, and the port through which it is | [`tools`] |
//! | what a conversation looks like to a model | [`message`] |
//! | models: the port, and whoever speaks to vendors and local servers | [`model`] |
//! | calling tools by text, for models that know no tools | [`prompted`] |
//! | which tools a model gets to see | [`shortlist`] |
//! | models of a few hundred million parameters | [`small`] |

#![warn(missing_docs)]

pub mod event;
#[cfg(feature = "local")]
pub mod local;
pub mod message;
pub mod model;
pub mod prompted;
pub mod shortlist;
pub mod small;
pub mod tools;
pub mod turn;
