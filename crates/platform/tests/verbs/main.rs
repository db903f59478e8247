//! The verbs on a real store: who may do what, what is refused and why, and what is announced.

#![cfg(test)]

mod apps;
mod audit;
mod devices;
mod fixture;
mod installs;
mod sealed_state;
mod tokens;
mod upstreams;
mod users;
