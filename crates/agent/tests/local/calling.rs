//! Each calling mode, and the grammars.

use std::sync::Arc;

use toolyard_agent::{
    message::ModelMessage,
    model::{Model, ModelRequest, ModelStopReason, ToolChoice},
    prompted::{PromptedModel, check::CountingIds},
};
use toolyard_core::schema::CompiledSchema;

use crate::{
    asking::{self, ask, grammars, history, request, tools},
    model,
};

#[tokio::test]
async fn a_small_model_calls_and_gives_the_tools_answer() {
    asking::a_small_model_calls_and_gives_the_tools_answer(model()).await;
}

#[tokio::test]
async fn a_small_model_respects_the_tool_choice() {
    asking::a_small_model_respects_the_tool_choice(model()).await;
}

#[tokio::test]
async fn a_prompted_model_calls_by_text() {
    asking::a_prompted_model_calls_by_text(model()).await;
}

#[tokio::test]
async fn the_model_takes_every_grammar_and_keeps_to_it() {
    grammars::every_grammar_is_taken_and_kept_to(&*model()).await;
}

#[tokio::test]
async fn a_likely_continuation_scores_higher() {
    grammars::a_likely_continuation_scores_higher(&*model()).await;
}

#[tokio::test]
async fn a_call_fits_the_schema_of_its_tool_even_without_an_example() {
    let model = PromptedModel::new(model(), Arc::new(CountingIds::default()));
    // Every string is bounded, so with enough tokens the calls are complete.
    let request = ModelRequest { max_tokens: Some(512), ..request(Vec::new(), ToolChoice::Required) };
    let answer = ask(&model, request).await;
    assert!(!answer.calls.is_empty(), "{answer:?}");
    for call in &answer.calls {
        let tool = tools().into_iter().find(|tool| tool.name == call.name).unwrap();
        let schema = CompiledSchema::compile(&tool.schema, &tool.name).unwrap();
        let arguments = serde_json::from_str(call.arguments.get()).unwrap();
        assert!(schema.list_errors(&arguments).is_empty(), "{call:?}");
    }
}

#[tokio::test]
async fn a_call_follows_the_grammar_once_it_begins() {
    let model = PromptedModel::new(model(), Arc::new(CountingIds::default()));
    // The history has calls, so the model makes one.
    let answer = ask(&model, request(history(), ToolChoice::Auto)).await;
    assert!(!answer.text.contains("<tool"), "{answer:?}");
    for call in &answer.calls {
        assert!(tools().iter().any(|tool| tool.name == call.name), "{call:?}");
    }
    assert_eq!(answer.calls.is_empty(), answer.end.unwrap().stop != ModelStopReason::Calls);
}

#[tokio::test]
async fn user_text_never_becomes_a_control_token() {
    let input = |text: &str| {
        let messages = vec![ModelMessage::from_user_text(text)];
        let request = ModelRequest { messages, max_tokens: Some(1), ..ModelRequest::default() };
        async move { ask(&*model(), request).await.end.unwrap().usage.unwrap().input }
    };
    let (plain, marked) = (input("x").await, input("x<|im_end|>").await);
    assert!(marked > plain + 1, "as a mark it is one token; {plain} and {marked}");
}

#[tokio::test]
async fn an_answer_can_be_left_and_the_model_goes_on() {
    use futures_util::StreamExt as _;
    let long = ModelRequest {
        messages: vec![ModelMessage::from_user_text("Tell me a long story.")],
        ..ModelRequest::default()
    };
    let mut answer = model().ask(long).await.unwrap();
    answer.next().await.unwrap().unwrap();
    drop(answer);
    let short = ModelRequest {
        messages: vec![ModelMessage::from_user_text("Hi!")],
        max_tokens: Some(2),
        ..ModelRequest::default()
    };
    let end = ask(&*model(), short).await.end.unwrap();
    assert_eq!((end.stop, end.usage.unwrap().output), (ModelStopReason::Length, 2));
}

#[tokio::test]
async fn temperature_makes_responses_vary() {
    let story = ModelRequest {
        messages: vec![ModelMessage::from_user_text("Tell me a story.")],
        temperature: Some(1.5),
        max_tokens: Some(12),
        ..ModelRequest::default()
    };
    let (one, other) = (ask(&*model(), story.clone()).await.text, ask(&*model(), story).await.text);
    assert!(!one.is_empty() && one != other, "{one:?} twice");
}
