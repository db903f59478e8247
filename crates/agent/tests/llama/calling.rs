//! A question for the calculator, in each way of calling tools.

use std::sync::Arc;

use serde_json::Value;
use toolyard_agent::{
    message::{Assistant, Message, ToolAnswer},
    model::{Model, ModelRequest, Stop, ToolChoice},
    prompted::{PromptedModel, check::CountingIds},
    small::{MAX_REPLY_TOKENS, SmallModel},
};

use crate::support::{Answer, ask, chat, history, scorer, tools};

const QUESTION: &str = "What is 12 * 7?";

fn request(messages: Vec<Message>, choice: ToolChoice) -> ModelRequest {
    ModelRequest {
        messages: messages.into_iter().chain([Message::user(QUESTION)]).collect(),
        tools: tools(),
        choice,
        max_tokens: Some(64),
        temperature: Some(0.0),
        ..ModelRequest::default()
    }
}

/// The first call is one of the calculator, with an expression; the answer ended as one with calls does.
fn expression(answer: &Answer) -> String {
    let call = answer.calls.first().unwrap_or_else(|| panic!("no call: {answer:?}"));
    assert_eq!(call.name, "calculator", "{answer:?}");
    let arguments: Value = serde_json::from_str(call.arguments.get()).unwrap();
    assert_eq!(answer.end.as_ref().unwrap().stop, Stop::Calls, "{answer:?}");
    arguments["expression"].as_str().expect("an expression").to_owned()
}

/// The same conversation after the tool answered.
fn answered(mut request: ModelRequest, answer: Answer) -> ModelRequest {
    let answers = answer.calls.iter().map(|call| ToolAnswer {
        id: call.id.clone(),
        name: call.name.clone(),
        text: "84".to_owned(),
        is_error: false,
    });
    let answers = Message::Tools(answers.collect());
    request.messages.push(Message::Assistant(Assistant { calls: answer.calls, ..Assistant::default() }));
    request.messages.push(answers);
    request.choice = ToolChoice::None;
    request
}

#[tokio::test]
async fn a_small_model_calls_and_gives_the_tools_answer() {
    let model = SmallModel::new(scorer(), "demo/smollm2", Arc::new(CountingIds::default()));
    let request = request(Vec::new(), ToolChoice::Auto);
    let answer = ask(&model, request.clone()).await;
    assert_eq!(expression(&answer), "12 * 7");
    let last = ask(&model, answered(request, answer)).await;
    assert_eq!((last.text.as_str(), last.calls.len()), ("84", 0));
}

#[tokio::test]
async fn a_small_model_must_call_where_it_is_told_to_and_cannot_where_not() {
    let model = SmallModel::new(scorer(), "demo/smollm2", Arc::new(CountingIds::default()));
    let hello =
        |choice| ModelRequest { messages: vec![Message::user("Hello!")], ..request(Vec::new(), choice) };
    assert_eq!(ask(&model, hello(ToolChoice::Required)).await.calls.len(), 1);
    let words = ask(&model, hello(ToolChoice::None)).await;
    assert!(words.calls.is_empty() && !words.text.is_empty(), "{words:?}");
    let usage = words.end.unwrap().usage.unwrap();
    assert!(usage.input > 0 && (1..=u64::from(MAX_REPLY_TOKENS)).contains(&usage.output), "{usage:?}");
}

#[tokio::test]
async fn a_prompted_model_calls_by_text() {
    let model = PromptedModel::new(chat(), Arc::new(CountingIds::default()));
    let request = request(history(), ToolChoice::Required);
    let answer = ask(&model, request.clone()).await;
    assert!(!expression(&answer).is_empty());
    let last = ask(&model, answered(request, answer)).await;
    assert!(!last.text.is_empty() && last.calls.is_empty(), "{last:?}");
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
