//! Tests of the fake upstream: both eras, every transport, every fault that a test can inject.

mod client;
mod eras;
mod faults;
mod listening;
mod pipes;
mod suite;
