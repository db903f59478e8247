//! The assistant end to end: a real server, real apps, a scripted model, and a device.
#![cfg(test)]

mod addressed;
mod answers;
mod approvals;
mod apps;
mod guide;
mod memory;
mod sign_in;
mod speech;
mod stage;
mod trouble;
