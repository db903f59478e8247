//! The client side of the official conformance suite: every scenario that a revision requires, authorization included.

#![cfg(test)]

use std::path::PathBuf;

use toolyard_testkit::conformance::run_client_suite;

/// Built next to the tests, in the parent folder.
fn program() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().join("../examples/conformance-client")
}

async fn passes(revision: &str, scenarios: usize) {
    let said = run_client_suite(&program(), revision).await.unwrap_or_else(|said| panic!("{said}"));
    let passed = said.lines().filter(|line| line.starts_with('✓')).count();
    assert!(passed >= scenarios, "{passed} of {scenarios}: {said}");
}

#[tokio::test]
async fn the_last_handshake_revision() {
    passes("2025-11-25", 18).await;
}

#[tokio::test]
async fn the_modern_revision() {
    passes("2026-07-28", 32).await;
}
