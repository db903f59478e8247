//! Mastra's MCP client. It calls what it listed, by the name in the list; and of a server with a handshake it hears no
//! changes and answers no questions, as its documentation says.

use crate::{
    stage::{Access, Stage},
    story::{LEGACY, MODERN, Step, play},
};

#[tokio::test]
async fn with_a_handshake() {
    let stage = Stage::start(Access::Header).await;
    let plan = stage.plan_of("legacy");
    let steps = [Step::List, Step::Alias, Step::Progress, Step::Cancel];
    play(stage, "mastra.mjs", LEGACY, &steps, plan).await;
}

#[tokio::test]
async fn without_one() {
    let stage = Stage::start(Access::Header).await;
    let plan = stage.plan();
    let steps = [Step::List, Step::Alias, Step::Progress, Step::Cancel, Step::Change, Step::Ask];
    play(stage, "mastra.mjs", MODERN, &steps, plan).await;
}

#[tokio::test]
async fn with_a_token() {
    let stage = Stage::start(Access::Token).await;
    let plan = stage.plan();
    play(stage, "mastra.mjs", MODERN, &Step::SHORT, plan).await;
}
