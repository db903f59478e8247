//! The crate by its front door.
#![cfg(test)]

mod compare;
mod contract;
mod fixture;
mod judge;
mod lists;
mod properties;
mod steady;
mod vectors;
