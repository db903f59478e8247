//! Apps through their front door: real HTTP, real sockets, and a platform that follows a script.
#![cfg(test)]

mod calls;
mod client;
mod fixture;
mod items;
mod platform;
mod progress;
mod reconnect;
mod register;
mod sessions;
mod signature;
mod stop;
