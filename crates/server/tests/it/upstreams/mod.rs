//! MCP servers in the world behind the platform: through REST and through the MCP door, with upstreams that can be told to
//! misbehave.
//!
//! | look for | in |
//! | --- | --- |
//! | upstreams, and who asks for them | [`world`] |
//! | adding, changing, removing; who may | [`manage`], [`roles`], [`secrets`], [`configured`] |
//! | what is listed | [`lists`], [`filters`], [`odd`] |
//! | calls, and callers who go away | [`calls`], [`cancel`] |
//! | questions to the caller, and who asks | [`asks`], [`awaited`], [`origin`] |
//! | prompts and resources | [`items`], [`watch`] |
//! | lists that change, upstreams that fail or are restarted | [`changes`], [`faults`], [`restarts`] |
//! | processes | [`stdio`] |
//! | users who have to say yes first | [`guarded`], [`oauth`], [`grants`], [`browsers`] |

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
mod guarded;
mod items;
mod lists;
mod manage;
mod oauth;
mod odd;
mod origin;
mod restarts;
mod roles;
mod secrets;
mod stdio;
mod watch;
pub(crate) mod world;
