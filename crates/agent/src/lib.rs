//! The turn of a chat: ask a model, run what it calls, ask again, until it stops, a budget ends it, or a client must act.
//!
//! | look for | in |
//! | --- | --- |
//! | the turn, and its limits | [`turn`] |
//! | the events that it sends while it runs | [`event`] |
//! | the tools of a turn, and the port that runs them | [`tools`] |
//! | a conversation as a model sees it | [`message`] |
//! | models: the port, and the clients for vendors and local servers | [`model`] |
//! | calling tools by text, for models without tool support | [`prompted`] |
//! | choosing the tools that a model is offered | [`shortlist`] |
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
