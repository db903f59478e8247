//! The server through its front door: the real router on a real store; only the outside world is faked.
#![cfg(test)]

mod access;
mod app_items;
mod apps;
mod builtin;
mod calls;
mod chat;
mod contract;
mod devices;
mod faults;
mod idempotency;
mod identity;
mod knock;
mod legacy;
mod limits;
mod listing;
mod mcp;
mod oidc;
mod platform;
mod plugins;
mod progress;
mod sdk;
mod sockets;
mod speech;
mod stop;
mod todo;
mod tool_sets;
mod traces;
mod upstreams;
mod wake;
