//! A question for the calculator, with each calling mode.

use std::sync::Arc;

use toolyard_agent::model::{Model, ToolChoice};

use crate::{
    asking::{self, answered, ask, expression, history, request},
    support::{chat, scorer},
};

#[tokio::test]
async fn a_small_model_calls_and_gives_the_tools_answer() {
    asking::a_small_model_calls_and_gives_the_tools_answer(scorer()).await;
}

#[tokio::test]
async fn a_small_model_respects_the_tool_choice() {
    asking::a_small_model_respects_the_tool_choice(scorer()).await;
}

#[tokio::test]
async fn a_prompted_model_calls_by_text() {
    asking::a_prompted_model_calls_by_text(chat()).await;
}

#[tokio::test]
async fn a_native_model_calls_in_the_servers_way() {
    let model: Arc<dyn Model> = chat();
    let request = request(history(), ToolChoice::Required);
    let answer = ask(&*model, request.clone()).await;
    assert!(!expression(&answer).is_empty());
    let last = ask(&*model, answered(request, answer)).await;
    assert!(!last.text.is_empty() && last.calls.is_empty(), "{last:?}");
}
