//! A real model in a real llama.cpp server: each calling mode, and every kind of grammar. The form of responses is
//! asserted, never their text.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails with a panic")]

#[path = "../asking/mod.rs"]
mod asking;
mod calling;
mod grammars;
mod support;
