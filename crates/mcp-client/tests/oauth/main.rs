//! OAuth through its front door, against an authorization server and a resource whose every fault can be ordered.
#![cfg(test)]

mod attacks;
mod bounds;
mod flow;
mod renewal;
mod step_up;
mod world;
