//! The fake upstream keeps its word: both eras, every transport, every fault that a test can order.

mod client;
mod eras;
mod faults;
mod listening;
mod pipes;
mod suite;
