//! Tests of the public API.
#![cfg(test)]

mod compare;
mod contract;
mod fixture;
mod judge;
mod lists;
mod properties;
mod shared_vectors;
mod validity;
mod vectors;
