//! The client against a server whose every fault can be ordered.
#![cfg(test)]

mod asks;
mod bounds;
mod cancel;
mod credentials;
mod era;
mod list;
mod peer;
mod process;
mod request;
mod session;
mod stdio;
mod tools;
mod watch;
mod world;
