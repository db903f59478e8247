//! The Rust SDK over HTTP.

use std::collections::HashMap;

use rmcp::{
    model::ProtocolVersion,
    service::{ClientLifecycleMode, ClientServiceExt as _},
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};

use crate::{
    ada::{Ada, Connected, play},
    stage::{Access, Stage},
    story::{LEGACY, MODERN},
};

async fn connect(stage: &Stage, lifecycle: ClientLifecycleMode) -> Connected {
    let headers = stage.ada.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
    let config = StreamableHttpClientTransportConfig::with_uri(stage.mcp())
        .custom_headers(headers.collect::<HashMap<_, _>>());
    let transport = StreamableHttpClientTransport::from_config(config);
    Ada::new().serve_with_lifecycle(transport, lifecycle).await.unwrap()
}

pub(crate) fn auto() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    }
}

#[tokio::test]
async fn with_a_handshake() {
    let stage = Stage::start(Access::Header).await;
    let ada = connect(&stage, ClientLifecycleMode::Initialize).await;
    play(&stage, ada, LEGACY).await;
    stage.end().await;
}

#[tokio::test]
async fn without_one() {
    let stage = Stage::start(Access::Header).await;
    let ada = connect(&stage, auto()).await;
    play(&stage, ada, MODERN).await;
    stage.end().await;
}

#[tokio::test]
async fn with_a_token() {
    let stage = Stage::start(Access::Token).await;
    let ada = connect(&stage, auto()).await;
    play(&stage, ada, MODERN).await;
    stage.end().await;
}
