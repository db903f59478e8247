//! The TypeScript SDK: version 1, which most clients of today are made of, and version 2.

use serde_json::{Value, json};

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

/// The plan of a client that opens pages.
fn with_pages(mut plan: Value) -> Value {
    plan["opensPages"] = true.into();
    plan
}

#[tokio::test]
async fn version_1_opens_the_page_to_sign_in_at_an_upstream() {
    let stage = Stage::start(Access::Header).await;
    let _upstream = stage.guard_upstream().await;
    let plan = with_pages(stage.plan());
    play(stage, "typescript-v1.mjs", LEGACY, &[Step::SignIn], plan).await;
}

#[tokio::test]
async fn version_2_opens_the_page_to_sign_in_at_an_upstream() {
    for (era, revision) in [("legacy", LEGACY), ("auto", MODERN)] {
        let stage = Stage::start(Access::Header).await;
        let _upstream = stage.guard_upstream().await;
        let plan = with_pages(stage.plan_of(era));
        play(stage, "typescript-v2.mjs", revision, &[Step::SignIn], plan).await;
    }
}
