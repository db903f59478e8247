//! OAuth through its public API, against an authorization server and a resource with injectable faults.
#![cfg(test)]

mod attacks;
mod bounds;
mod flow;
mod renewal;
mod step_up;
mod world;
