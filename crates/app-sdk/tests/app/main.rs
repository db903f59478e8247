//! Apps from the outside: real HTTP, real sockets, and a scripted platform.
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
