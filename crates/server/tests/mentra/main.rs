//! The real npm package `@mentra/sdk`, unmodified, against the real server. The app is `tests/mentra-sdk/app.mjs`, a
//! process of its own; whatever the SDK does on the wire, it does here.
//!
//! The SDK has times of its own (it dials again 1 s and 3 s after a loss), so some of this takes seconds. Nothing here
//! sleeps: every wait is for an event, and the whole of each story has a limit.
#![cfg(test)]

mod calls;
mod device;
mod faults;
mod live;
#[expect(dead_code, reason = "the harness of the other tests, of which this one needs a part")]
#[path = "../it/platform.rs"]
mod platform;
mod process;
mod returns;
mod stage;
