//! The tools that use the network, against a server on a raw socket.
#![cfg(test)]

mod fetch_page;
mod server;
mod web_search;
