//! The conversation, kept in memory and sent whole with each question: the server keeps none.

use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::json;

use super::answer::Answer;

/// Largest conversation that is sent, in bytes. Servers take 8 MiB unless they say otherwise.
pub(super) const MAX_BYTES: usize = 32 * 1024 * 1024;

/// What was said so far, and how it shall go on.
#[derive(Debug, Default)]
pub(super) struct Talk {
    messages: Vec<Message>,
    /// Numbers the messages.
    last_id: usize,
    pub(super) model: Option<String>,
    pub(super) system: Option<String>,
}

#[derive(Debug)]
enum Message {
    User { id: String, text: String },
    Assistant(Answer),
}

/// The body of a question.
#[derive(Serialize)]
struct Body<'a> {
    id: &'static str,
    trigger: &'static str,
    messages: &'a [Message],
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'a str>,
}

impl Talk {
    pub(super) fn new(model: Option<String>, system: Option<String>) -> Self {
        Self { model, system, ..Self::default() }
    }

    /// Forgets what was said; model and system text stay.
    pub(super) fn begin_anew(&mut self) {
        self.messages.clear();
    }

    /// The user says something.
    pub(super) fn says(&mut self, text: &str) {
        self.last_id += 1;
        self.messages.push(Message::User { id: format!("u{}", self.last_id), text: text.to_owned() });
    }

    /// Takes the answer to what was said last. Where there is none, the question is taken back too: whoever asks again
    /// should not have asked twice.
    pub(super) fn answered(&mut self, answer: Answer) {
        if !answer.is_empty() {
            self.messages.push(Message::Assistant(answer));
        } else if matches!(self.messages.last(), Some(Message::User { .. })) {
            self.messages.pop();
        }
    }

    /// The question as a server reads it; none where it is too large for any.
    pub(super) fn body(&self) -> Option<bytes::Bytes> {
        let body = Body {
            id: "terminal",
            trigger: "submit-message",
            messages: &self.messages,
            model: self.model.as_deref(),
            system: self.system.as_deref(),
        };
        Some(crate::client::json(&body)).filter(|body| body.len() <= MAX_BYTES)
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::User { id, text } => {
                map.serialize_entry("id", id)?;
                map.serialize_entry("role", "user")?;
                map.serialize_entry("parts", &[json!({ "type": "text", "text": text })])?;
            }
            Self::Assistant(answer) => {
                if let Some(id) = &answer.id {
                    map.serialize_entry("id", id)?;
                }
                map.serialize_entry("role", "assistant")?;
                map.serialize_entry("parts", &answer.parts)?;
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{super::answer::tests::heard, *};

    fn body(talk: &Talk) -> Value {
        serde_json::from_slice(&talk.body().unwrap()).unwrap()
    }

    #[test]
    fn an_answer_goes_back_as_the_ai_sdk_would_send_it() {
        let mut talk = Talk::new(Some("local/m".to_owned()), None);
        talk.says("add milk");
        talk.answered(heard(&[
            json!({ "type": "start", "messageId": "msg_1" }),
            json!({ "type": "start-step" }),
            json!({ "type": "text-delta", "id": "t1", "delta": "Add" }),
            json!({ "type": "text-delta", "id": "t1", "delta": "ing." }),
            json!({ "type": "text-end", "id": "t1" }),
            json!({ "type": "text-delta", "id": "t2", "delta": "Now." }),
            json!({ "type": "tool-input-available", "toolCallId": "c1", "toolName": "add", "input": { "a": 1 },
                "providerExecuted": true }),
            json!({ "type": "tool-output-available", "toolCallId": "c1", "output": "half", "preliminary": true }),
            json!({ "type": "tool-output-available", "toolCallId": "c1", "output": { "ok": true } }),
            json!({ "type": "tool-input-available", "toolCallId": "c2", "toolName": "add", "input": {},
                "providerExecuted": true }),
            json!({ "type": "tool-output-error", "toolCallId": "c2", "errorText": "no" }),
        ]));
        talk.says("thanks");
        assert_eq!(
            body(&talk),
            json!({ "id": "terminal", "trigger": "submit-message", "model": "local/m", "messages": [
                { "id": "u1", "role": "user", "parts": [{ "type": "text", "text": "add milk" }] },
                { "id": "msg_1", "role": "assistant", "parts": [
                    { "type": "step-start" },
                    { "type": "text", "text": "Adding.", "state": "done" },
                    { "type": "text", "text": "Now.", "state": "done" },
                    { "type": "tool-add", "toolCallId": "c1", "input": { "a": 1 }, "providerExecuted": true,
                        "state": "output-available", "output": { "ok": true } },
                    { "type": "tool-add", "toolCallId": "c2", "input": {}, "providerExecuted": true,
                        "state": "output-error", "errorText": "no" },
                ] },
                { "id": "u2", "role": "user", "parts": [{ "type": "text", "text": "thanks" }] },
            ] })
        );
        let read = toolyard_protocol::chat::ChatRequest::read(&talk.body().unwrap()).unwrap();
        assert_eq!((read.messages.len(), read.protocol), (3, toolyard_protocol::chat::ChatProtocol::Ui));
    }

    #[test]
    fn a_question_without_an_answer_is_taken_back() {
        let mut talk = Talk::default();
        talk.says("hello");
        talk.answered(heard(&[json!({ "type": "start" }), json!({ "type": "start-step" })]));
        assert_eq!(body(&talk)["messages"], json!([]));
        talk.says("again");
        talk.answered(heard(&[json!({ "type": "text-delta", "delta": "hi" })]));
        assert_eq!(body(&talk)["messages"].as_array().unwrap().len(), 2);
        talk.begin_anew();
        assert_eq!(body(&talk)["messages"], json!([]));
    }

    #[test]
    fn what_no_server_would_take_is_not_sent() {
        let mut talk = Talk::default();
        talk.says(&"x".repeat(MAX_BYTES));
        assert!(talk.body().is_none());
    }
}
