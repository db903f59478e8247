//! Upstream MCP servers: adding, changing and removing them, and who may use them.

mod add;
mod change;
mod check;
mod find;
mod forget_authorization;
mod remove;
mod sync_from_config;
mod write;

pub use self::{
    add::{NewUpstreamRequest, add},
    change::change,
    find::{StoredUpstream, find_for_user, find_owned, list_owned},
    forget_authorization::forget_authorization,
    remove::remove,
    sync_from_config::sync_from_config,
};
