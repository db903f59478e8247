//! The official MCP conformance suite, against the server in front of a fixture upstream. What the suite asks by fixed
//! names goes through a proxy that speaks our names for it.

#![cfg(test)]

mod stage;

use stage::Stage;
use toolyard_testkit::upstream::UpstreamEra;

/// Handshake revisions, the upstream speaks them as well: questions are relayed from stream to stream.
#[tokio::test]
async fn handshake_clients_before_a_handshake_upstream() {
    Stage::start(UpstreamEra::Legacy).await.passes("2025-11-25").await;
}

/// Questions of a modern upstream become questions on the client's stream.
#[tokio::test]
async fn handshake_clients_before_a_modern_upstream() {
    Stage::start(UpstreamEra::Modern).await.passes("2025-11-25").await;
}

#[tokio::test]
async fn modern_clients_before_a_modern_upstream() {
    Stage::start(UpstreamEra::Modern).await.passes("2026-07-28").await;
}
