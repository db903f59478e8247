//! Models against a scripted server over real HTTP, in each protocol.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails with a panic")]

mod ask;
mod calls;
mod discovery;
mod ends;
mod errors;
mod history;
mod scorer;
mod support;
