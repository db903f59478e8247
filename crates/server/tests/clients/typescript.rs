//! The TypeScript SDK: version 1, which most clients of today are made of, and version 2.

use serde_json::json;

use crate::{
    stage::{Access, Stage},
    story::{LEGACY, MODERN, Step, play},
};

#[tokio::test]
async fn version_1_over_http() {
    let stage = Stage::start(Access::Header).await;
    let plan = stage.plan();
    play(stage, "typescript-v1.mjs", LEGACY, &Step::ALL, plan).await;
}

#[tokio::test]
async fn version_1_with_a_token() {
    let stage = Stage::start(Access::Token).await;
    let plan = stage.plan();
    play(stage, "typescript-v1.mjs", LEGACY, &Step::SHORT, plan).await;
}

#[tokio::test]
async fn version_1_over_a_websocket() {
    let stage = Stage::start(Access::Token).await;
    let plan = json!({ "url": stage.socket().await });
    play(stage, "typescript-v1.mjs", LEGACY, &Step::ALL, plan).await;
}

#[tokio::test]
async fn version_2_with_a_handshake() {
    let stage = Stage::start(Access::Header).await;
    let plan = stage.plan_of("legacy");
    play(stage, "typescript-v2.mjs", LEGACY, &Step::ALL, plan).await;
}

#[tokio::test]
async fn version_2_without_one() {
    let stage = Stage::start(Access::Header).await;
    let plan = stage.plan_of("auto");
    play(stage, "typescript-v2.mjs", MODERN, &Step::ALL, plan).await;
}

#[tokio::test]
async fn version_2_with_a_token() {
    let stage = Stage::start(Access::Token).await;
    let plan = stage.plan_of("auto");
    play(stage, "typescript-v2.mjs", MODERN, &Step::SHORT, plan).await;
}
