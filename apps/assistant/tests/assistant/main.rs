//! The assistant through its front door: a real server, real apps, a model that says what it was told to say, and a device.
#![cfg(test)]

mod addressed;
mod answers;
mod apps;
mod guide;
mod memory;
mod speech;
mod stage;
mod trouble;
