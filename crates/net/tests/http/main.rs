//! The client against a peer on a raw socket.
#![cfg(test)]

mod connections;
mod events;
mod lines;
mod peer;
mod send;
