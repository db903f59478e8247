//! A real model in a real llama.cpp server: each way of calling tools, and every kind of grammar. Forms are asserted,
//! never prose.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails where something is not as it should be"
)]

#[path = "../asking/mod.rs"]
mod asking;
mod calling;
mod evaluation;
mod grammars;
mod support;
