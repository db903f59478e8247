//! Models against a scripted one over real HTTP, in each protocol that we speak.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails where something is not as it should be"
)]

mod ask;
mod calls;
mod ends;
mod errors;
mod history;
mod look;
mod scorer;
mod support;
