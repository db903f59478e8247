//! The Python SDK.

use crate::{
    stage::{Access, Stage},
    story::{LEGACY, MODERN, Step, play},
};

#[tokio::test]
async fn with_a_handshake() {
    let stage = Stage::start(Access::Header).await;
    let plan = stage.plan_of("legacy");
    play(stage, "python.py", LEGACY, &Step::ALL, plan).await;
}

#[tokio::test]
async fn without_one() {
    let stage = Stage::start(Access::Header).await;
    let plan = stage.plan_of("auto");
    play(stage, "python.py", MODERN, &Step::ALL, plan).await;
}

#[tokio::test]
async fn with_a_token() {
    let stage = Stage::start(Access::Token).await;
    let plan = stage.plan_of("auto");
    play(stage, "python.py", MODERN, &Step::SHORT, plan).await;
}
