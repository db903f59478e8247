//! The client against a server with injectable faults.
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
