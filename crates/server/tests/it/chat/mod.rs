//! The chat door: requests as real clients send them, with a scripted model.

mod approvals;
mod check;
mod choice;
mod client_rules;
mod client_tools;
mod functions;
mod leaving;
mod limits;
mod long_results;
mod models;
mod openai;
mod own;
mod parameters;
mod prompted;
mod responses;
mod results;
mod resumable;
mod story;
mod turn_limits;
mod v1;

use http::Method;
use serde_json::{Value, json};
use toolyard_server::config::{CallingMode, Config, ModelConfig};
use toolyard_testkit::model::{RecordedModelRequest, ScriptedModel, ScriptedReply};

use crate::platform::{Person, Platform};

/// The echo tool, as models see it.
pub(crate) const ECHO_ALIAS: &str = "com_example_echo__echo";

/// A server whose model is `local/scripted`.
pub(crate) async fn with_model(change: impl FnOnce(&mut Config)) -> (Platform, ScriptedModel) {
    let model = ScriptedModel::start().await;
    let url = format!("{}/v1", model.url());
    let p = Platform::with(|config| {
        let place =
            ModelConfig { url: Some(url), calling: Some(CallingMode::Native), ..ModelConfig::default() };
        config.models.insert("local".to_owned(), place);
        config.chat.model = Some("local/scripted".to_owned());
        change(config);
    })
    .await;
    (p, model)
}

/// A message of AI SDK 5 and later.
pub(crate) fn says(text: &str) -> Value {
    json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": text }] })
}

/// A request of AI SDK 5 and later.
pub(crate) fn asks(text: &str) -> Value {
    json!({ "messages": [says(text)] })
}

/// The request with more members.
pub(crate) fn with(mut body: Value, more: Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// A client tool with one required string argument, `city`.
pub(crate) fn weather() -> Value {
    json!({ "name": "weather", "description": "The weather", "parameters": { "type": "object",
        "properties": { "city": { "type": "string" } }, "required": ["city"] } })
}

/// The chunks of a UI message stream, each of them checked.
pub(crate) async fn chunks(who: &Person<'_>, body: Value) -> Vec<Value> {
    let answer = who.post("/api/chat", &body).await.expect(200);
    assert_eq!(answer.header("content-type"), "text/event-stream");
    assert_eq!(answer.header("x-vercel-ai-ui-message-stream"), "v1");
    chunks_in(&answer.text)
}

/// The chunks in the text of a stream, checked.
pub(crate) fn chunks_in(text: &str) -> Vec<Value> {
    let text = text.strip_suffix("data: [DONE]\n\n").unwrap_or_else(|| panic!("{text}"));
    let events = text.split("\n\n").filter(|event| !event.is_empty() && !event.starts_with(':'));
    let chunks: Vec<Value> =
        events.map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap()).collect();
    check::ui(&chunks);
    chunks
}

/// The lines of a data stream v1, each of them checked.
pub(crate) async fn lines(who: &Person<'_>, body: Value) -> Vec<check::Line> {
    let answer = who.post("/api/chat", &body).await.expect(200);
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(answer.header("x-vercel-ai-data-stream"), "v1");
    lines_in(&answer.text)
}

/// The lines in the text of a stream, checked.
pub(crate) fn lines_in(text: &str) -> Vec<check::Line> {
    assert!(text.ends_with('\n'), "{text}");
    let lines = text.lines().filter(|line| !line.is_empty());
    let lines: Vec<_> =
        lines.map(|line| (line.chars().next().unwrap(), serde_json::from_str(&line[2..]).unwrap())).collect();
    check::v1(&lines);
    lines
}

/// The types of chunks, in order.
pub(crate) fn kinds(chunks: &[Value]) -> Vec<&str> {
    chunks.iter().map(|chunk| chunk["type"].as_str().unwrap()).collect()
}

/// The chunks of a type.
pub(crate) fn of<'a>(chunks: &'a [Value], kind: &str) -> Vec<&'a Value> {
    chunks.iter().filter(|chunk| chunk["type"] == kind).collect()
}

/// The only chunk of a type.
pub(crate) fn one<'a>(chunks: &'a [Value], kind: &str) -> &'a Value {
    let found = of(chunks, kind);
    assert_eq!(found.len(), 1, "{kind}: {chunks:#?}");
    found[0]
}

/// The text of a response.
pub(crate) fn words(chunks: &[Value]) -> String {
    of(chunks, "text-delta").iter().map(|chunk| chunk["delta"].as_str().unwrap()).collect()
}

/// The finish reason of a response.
pub(crate) fn reason(chunks: &[Value]) -> &str {
    chunks.last().unwrap()["finishReason"].as_str().unwrap_or("none")
}

/// The names of the tools in a model request.
pub(crate) fn offered(seen: &RecordedModelRequest) -> Vec<String> {
    let tools = seen.body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

/// The results of calls in a model request.
pub(crate) fn results(seen: &RecordedModelRequest) -> Vec<String> {
    let messages = seen.body["messages"].as_array().unwrap().iter();
    let results = messages.filter(|message| message["role"] == "tool");
    results.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

/// A stream that is read chunk by chunk.
pub(crate) struct Reading {
    lines: toolyard_net::ResponseLines,
    text: String,
}

impl Reading {
    pub(crate) async fn begin(who: &Person<'_>, body: Value) -> Self {
        Self::of(who.open(Method::POST, "/api/chat", Some(body)).await)
    }

    pub(crate) fn of(response: toolyard_net::HttpResponse) -> Self {
        assert_eq!(response.status.as_u16(), 200);
        Self { lines: response.into_lines(1 << 20, 64 << 20), text: String::new() }
    }

    /// The next chunk of this type; others are skipped.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let line = self.next().await.unwrap_or_else(|| panic!("no {kind} in {}", self.text));
            let chunk: Value = serde_json::from_str(line.strip_prefix("data: ").unwrap()).unwrap();
            if chunk["type"] == kind {
                return chunk;
            }
        }
    }

    async fn next(&mut self) -> Option<String> {
        let line = String::from_utf8(self.lines.next().await.unwrap()?.to_vec()).unwrap();
        self.text.push_str(&line);
        self.text.push_str("\n\n");
        Some(line)
    }

    /// All chunks from the first to the last, checked.
    pub(crate) async fn all(mut self) -> Vec<Value> {
        while self.next().await.is_some() {}
        chunks_in(&self.text)
    }
}

/// Sets the scripted replies in order.
pub(crate) fn script(model: &ScriptedModel, answers: impl IntoIterator<Item = ScriptedReply>) {
    model.queue_replies(answers);
}
