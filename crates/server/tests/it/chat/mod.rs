//! The chat door: real requests of clients in, their streams out, with a model that says what it was told to say.

mod story;

use serde_json::{Value, json};
use toolyard_server::config::{CallingConfig, Config, ModelConfig};
use toolyard_testkit::model::{Answer, ScriptedModel};

use crate::platform::{Person, Platform};

/// A server whose model is `local/scripted`.
pub(crate) async fn with_model(change: impl FnOnce(&mut Config)) -> (Platform, ScriptedModel) {
    let model = ScriptedModel::start().await;
    let url = format!("{}/v1", model.url());
    let p = Platform::with(|config| {
        let place = ModelConfig { url, key_env: None, calling: Some(CallingConfig::Native) };
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

/// The chunks of a UI message stream.
pub(crate) async fn chunks(who: &Person<'_>, body: Value) -> Vec<Value> {
    let answer = who.post("/api/chat", &body).await.expect(200);
    assert_eq!(answer.header("content-type"), "text/event-stream");
    assert_eq!(answer.header("x-vercel-ai-ui-message-stream"), "v1");
    let text = answer.text.strip_suffix("data: [DONE]\n\n").unwrap_or_else(|| panic!("{}", answer.text));
    let events = text.split("\n\n").filter(|event| !event.is_empty() && !event.starts_with(':'));
    events.map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap()).collect()
}

/// The types of chunks, in order.
pub(crate) fn kinds(chunks: &[Value]) -> Vec<&str> {
    chunks.iter().map(|chunk| chunk["type"].as_str().unwrap()).collect()
}

/// The scripted answers, one after the other.
pub(crate) fn script(model: &ScriptedModel, answers: impl IntoIterator<Item = Answer>) {
    model.answers(answers);
}
