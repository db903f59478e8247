//! Requests to real models. The form of responses is asserted, never their text.

pub(crate) mod grammars;

use std::sync::Arc;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use toolyard_agent::{
    message::{AssistantMessage, ModelMessage, ModelToolCall, ToolAnswer},
    model::{Model, ModelEvent, ModelRequest, ModelStopReason, ResponseEnd, ToolChoice, ToolSpec},
    prompted::{PromptedModel, check::CountingIds},
    small::{MAX_REPLY_TOKENS, Scorer, SmallModel},
};

pub(crate) const QUESTION: &str = "What is 12 * 7?";

pub(crate) fn request(messages: Vec<ModelMessage>, choice: ToolChoice) -> ModelRequest {
    ModelRequest {
        messages: messages.into_iter().chain([ModelMessage::from_user_text(QUESTION)]).collect(),
        tools: tools(),
        choice,
        max_tokens: Some(64),
        temperature: Some(0.0),
        ..ModelRequest::default()
    }
}

/// The expression of the first call, which must be one of the calculator. The response must have ended with calls.
pub(crate) fn expression(answer: &ModelAnswer) -> String {
    let call = answer.calls.first().unwrap_or_else(|| panic!("no call: {answer:?}"));
    assert_eq!(call.name, "calculator", "{answer:?}");
    let arguments: Value = serde_json::from_str(call.arguments.get()).unwrap();
    assert_eq!(answer.end.as_ref().unwrap().stop, ModelStopReason::Calls, "{answer:?}");
    arguments["expression"].as_str().expect("an expression").to_owned()
}

/// The same conversation after the result of the tool.
pub(crate) fn answered(mut request: ModelRequest, answer: ModelAnswer) -> ModelRequest {
    let answers = answer.calls.iter().map(|call| ToolAnswer {
        id: call.id.clone(),
        name: call.name.clone(),
        text: "84".to_owned(),
        is_error: false,
    });
    let answers = ModelMessage::Tools(answers.collect());
    request.messages.push(ModelMessage::Assistant(AssistantMessage {
        calls: answer.calls,
        ..AssistantMessage::default()
    }));
    request.messages.push(answers);
    request.choice = ToolChoice::None;
    request
}

pub(crate) fn tools() -> Vec<Arc<ToolSpec>> {
    let tool = |name: &str, description: &str, argument: &str| {
        let schema = json!({ "type": "object", "properties": { argument: { "type": "string" } }, "required": [argument] });
        Arc::new(ToolSpec { name: name.to_owned(), description: description.to_owned(), schema })
    };
    vec![
        tool("calculator", "Works out a calculation.", "expression"),
        tool("current_time", "Tells the date and the time in a city.", "city"),
    ]
}

/// A conversation in which the tool was called before. A model this small needs an example.
pub(crate) fn history() -> Vec<ModelMessage> {
    let mut messages = Vec::new();
    for (at, (question, expression, answer)) in [
        ("What is 3 + 4?", "3 + 4", "7"),
        ("What is 20 - 5?", "20 - 5", "15"),
        ("What is 6 * 6?", "6 * 6", "36"),
    ]
    .into_iter()
    .enumerate()
    {
        let arguments = serde_json::value::to_raw_value(&json!({ "expression": expression })).unwrap();
        let (id, name) = (format!("call_{at}"), "calculator".to_owned());
        let call = ModelToolCall { id: id.clone(), name: name.clone(), arguments };
        messages.extend([
            ModelMessage::from_user_text(question),
            ModelMessage::Assistant(AssistantMessage { calls: vec![call], ..AssistantMessage::default() }),
            ModelMessage::Tools(vec![ToolAnswer { id, name, text: answer.to_owned(), is_error: false }]),
            ModelMessage::Assistant(AssistantMessage {
                text: format!("It is {answer}."),
                ..AssistantMessage::default()
            }),
        ]);
    }
    messages
}

/// The response of a model.
#[derive(Debug, Default)]
pub(crate) struct ModelAnswer {
    pub(crate) text: String,
    pub(crate) calls: Vec<ModelToolCall>,
    pub(crate) end: Option<ResponseEnd>,
}

pub(crate) async fn ask(model: &dyn Model, request: ModelRequest) -> ModelAnswer {
    let mut stream = model.ask(request).await.unwrap();
    let mut answer = ModelAnswer::default();
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            ModelEvent::Text(text) => answer.text.push_str(&text),
            ModelEvent::Call(call) => answer.calls.push(call),
            ModelEvent::End(end) => answer.end = Some(end),
            event => assert!(
                matches!(event, ModelEvent::CallBegins { .. } | ModelEvent::CallText { .. }),
                "{event:?}"
            ),
        }
    }
    answer
}

/// A small model with this scorer.
pub(crate) fn small(scorer: Arc<dyn Scorer>) -> SmallModel {
    SmallModel::new(scorer, "demo/smollm2", Arc::new(CountingIds::default()))
}

pub(crate) async fn a_small_model_calls_and_gives_the_tools_answer(scorer: Arc<dyn Scorer>) {
    let model = small(scorer);
    let request = request(Vec::new(), ToolChoice::Auto);
    let answer = ask(&model, request.clone()).await;
    assert_eq!(expression(&answer), "12 * 7");
    let last = ask(&model, answered(request, answer)).await;
    assert_eq!((last.text.as_str(), last.calls.len()), ("84", 0));
}

pub(crate) async fn a_small_model_respects_the_tool_choice(scorer: Arc<dyn Scorer>) {
    let model = small(scorer);
    let hello = |choice| ModelRequest {
        messages: vec![ModelMessage::from_user_text("Hello!")],
        ..request(Vec::new(), choice)
    };
    assert_eq!(ask(&model, hello(ToolChoice::Required)).await.calls.len(), 1);
    let words = ask(&model, hello(ToolChoice::None)).await;
    assert!(words.calls.is_empty() && !words.text.is_empty(), "{words:?}");
    let usage = words.end.unwrap().usage.unwrap();
    assert!(usage.input > 0 && (1..=u64::from(MAX_REPLY_TOKENS)).contains(&usage.output), "{usage:?}");
}

pub(crate) async fn a_prompted_model_calls_by_text(model: Arc<dyn Model>) {
    let model = PromptedModel::new(model, Arc::new(CountingIds::default()));
    let request = request(history(), ToolChoice::Required);
    let answer = ask(&model, request.clone()).await;
    assert!(!expression(&answer).is_empty());
    let last = ask(&model, answered(request, answer)).await;
    assert!(!last.text.is_empty() && last.calls.is_empty(), "{last:?}");
}
