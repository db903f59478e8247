//! Upstreams through REST and the MCP door, with fake upstreams that can misbehave.
//!
//! | look for | in |
//! | --- | --- |
//! | upstreams and helpers for requests | [`world`] |
//! | adding, changing, removing, and permissions | [`manage`], [`roles`], [`secrets`], [`configured`] |
//! | lists | [`lists`], [`filters`], [`odd`] |
//! | calls and cancellation | [`calls`], [`cancel`] |
//! | questions to the caller and their origin | [`asks`], [`awaited`], [`origin`] |
//! | prompts and resources | [`items`], [`watch`] |
//! | lists that change, upstreams that fail or are restarted | [`changes`], [`faults`], [`restarts`] |
//! | child processes | [`stdio`] |
//! | OAuth | [`guarded`], [`oauth`], [`grants`], [`browsers`], [`sign_in`] |

mod asks;
mod awaited;
mod browsers;
mod calls;
mod cancel;
mod changes;
mod configured;
mod faults;
mod filters;
mod grants;
pub(crate) mod guarded;
mod items;
mod lists;
mod manage;
mod oauth;
mod odd;
mod origin;
mod restarts;
mod roles;
mod secrets;
mod sign_in;
mod stdio;
mod watch;
pub(crate) mod world;
