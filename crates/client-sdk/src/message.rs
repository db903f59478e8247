//! Messages of a conversation as they are sent, in the format of AI SDK 5 and later. You can store them as JSON and send them
//! again. Fields that this crate does not know are preserved.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::SerializeMap as _};
use serde_json::{Map, Value, json};

use crate::tool::ToolCall;

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageRole {
    /// The user.
    User,
    /// The model, including its tool calls and their results.
    Assistant,
    /// The developer of the program.
    System,
    /// The result of a call, as OpenAI clients send it. This crate reads such messages and never creates them.
    Tool,
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The message id. A continued answer keeps it.
    pub id: Option<String>,
    /// Who wrote it.
    pub role: MessageRole,
    /// The content, in order.
    pub parts: Vec<MessagePart>,
    /// All other fields, such as `metadata`.
    pub more: Map<String, Value>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum MessagePart {
    /// Text.
    Text(String),
    /// Reasoning of the model. The server does not send it to a model again.
    Reasoning(String),
    /// A new step began: the model was called again.
    Step,
    /// An image or another file, by URL. Data URLs are allowed.
    File {
        /// The media type, such as `image/png`.
        media_type: String,
        /// Where the file is.
        url: String,
    },
    /// A tool call with its state.
    Call(CallPart),
    /// Anything else, unchanged.
    Other(Value),
}

/// A tool call with its state.
#[derive(Debug, Clone, PartialEq)]
pub struct CallPart {
    /// The call.
    pub call: ToolCall,
    /// Its state.
    pub end: CallPartState,
}

/// The state of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallPartState {
    /// No result yet.
    Open,
    /// It returned this result.
    Done(Value),
    /// It failed. The model reads the failure of a client tool as `{"error": …}`.
    Failed(String),
    /// It waits for the user's approval.
    ApprovalRequested(CallApproval),
    /// The user has answered; the server runs it, or not, with the next request.
    ApprovalAnswered {
        /// The approval.
        approval: CallApproval,
        /// Whether the call may run.
        approved: bool,
        /// What the user said with it.
        reason: Option<String>,
    },
}

/// The approval of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallApproval {
    /// Its id.
    pub id: String,
    /// The server's signature, which the answer repeats.
    pub signature: Option<String>,
}

impl CallApproval {
    fn from_fields(fields: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Self { id: text("id")?, signature: text("signature") })
    }

    fn to_value(&self) -> Value {
        let mut value = json!({ "id": self.id });
        if let Some(signature) = &self.signature {
            value["signature"] = signature.as_str().into();
        }
        value
    }
}

impl CallPartState {
    /// Reads the state of a call that has an approval and no result. `None` if it would lose fields.
    fn from_approval(state: &str, fields: &Map<String, Value>) -> Option<Self> {
        let approval = CallApproval::from_fields(fields)?;
        let only = |names: &[&str]| fields.keys().all(|key| names.contains(&key.as_str()));
        match state {
            "approval-requested" if only(&["id", "signature"]) => Some(Self::ApprovalRequested(approval)),
            "approval-responded" if only(&["id", "signature", "approved", "reason"]) => {
                let approved = fields.get("approved")?.as_bool()?;
                let reason = fields.get("reason").and_then(Value::as_str).map(str::to_owned);
                Some(Self::ApprovalAnswered { approval, approved, reason })
            }
            _ => None,
        }
    }
}

impl Message {
    fn with_text(role: MessageRole, text: impl Into<String>) -> Self {
        Self { id: None, role, parts: vec![MessagePart::Text(text.into())], more: Map::new() }
    }

    /// A text message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::with_text(MessageRole::User, text)
    }

    /// A text message of the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::with_text(MessageRole::Assistant, text)
    }

    /// Instructions for the model. `system` of the client or the question does the same.
    pub fn system(text: impl Into<String>) -> Self {
        Self::with_text(MessageRole::System, text)
    }

    /// Sets the id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Appends a part.
    #[must_use]
    pub fn with_part(mut self, part: MessagePart) -> Self {
        self.parts.push(part);
        self
    }

    /// The text of the message, each text part on its own line.
    pub fn text(&self) -> String {
        join_texts(&self.parts)
    }

    /// The ids of its calls, including calls in a format that is kept as it came.
    pub(crate) fn call_ids(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            MessagePart::Call(part) => Some(part.call.id.as_str()),
            MessagePart::Other(value) => value.get("toolCallId")?.as_str(),
            _ => None,
        })
    }
}

/// The text parts, joined by line breaks.
pub(crate) fn join_texts(parts: &[MessagePart]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        MessagePart::Text(text) => Some(text.as_str()),
        MessagePart::Other(value) if value["type"] == "text" => value["text"].as_str(),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(id) = &self.id {
            map.serialize_entry("id", id)?;
        }
        map.serialize_entry("role", &self.role)?;
        map.serialize_entry("parts", &self.parts)?;
        for (name, value) in &self.more {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Message {
    /// Also accepts the older format, with `content` in place of `parts`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        let role = fields.remove("role").ok_or_else(|| D::Error::missing_field("role"))?;
        let role = serde_json::from_value(role).map_err(D::Error::custom)?;
        let id = match fields.remove("id") {
            Some(Value::String(id)) => Some(id),
            _ => None,
        };
        let parts = match (fields.remove("parts"), fields.remove("content")) {
            (Some(Value::Array(parts)), content) if !parts.is_empty() || content.is_none() => parts,
            (_, Some(Value::Array(parts))) => parts,
            (_, Some(Value::String(text))) if text.is_empty() => Vec::new(),
            (_, Some(Value::String(text))) => vec![json!({ "type": "text", "text": text })],
            (None | Some(Value::Array(_)), None | Some(Value::Null)) => Vec::new(),
            _ => return Err(D::Error::custom("expected `parts` (a list) or `content` (a string)")),
        };
        Ok(Self { id, role, parts: parts.into_iter().map(MessagePart::from_value).collect(), more: fields })
    }
}

impl MessagePart {
    /// Parses a part. A part that would lose fields is kept as it is.
    fn from_value(value: Value) -> Self {
        let Some(fields) = value.as_object() else { return Self::Other(value) };
        let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let only = |names: &[&str]| fields.keys().all(|key| names.contains(&key.as_str()));
        let read = match text("type").as_deref() {
            Some("text") if only(&["type", "text", "state"]) => text("text").map(Self::Text),
            Some("reasoning") if only(&["type", "text", "state"]) => text("text").map(Self::Reasoning),
            Some("step-start") if only(&["type"]) => Some(Self::Step),
            Some("file") if only(&["type", "mediaType", "url"]) => {
                text("mediaType").and_then(|media_type| text("url").map(|url| Self::File { media_type, url }))
            }
            Some(kind) => kind
                .strip_prefix("tool-")
                .and_then(|tool| CallPart::from_fields(tool, fields))
                .map(Self::Call),
            None => None,
        };
        read.unwrap_or(Self::Other(value))
    }
}

impl CallPart {
    const MEMBERS: [&str; 8] =
        ["type", "toolCallId", "state", "input", "output", "errorText", "providerExecuted", "approval"];

    fn from_fields(tool: &str, fields: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        if !fields.keys().all(|key| Self::MEMBERS.contains(&key.as_str())) {
            return None;
        }
        let end = match (text("state")?.as_str(), fields.get("approval")) {
            (state, Some(approval)) => CallPartState::from_approval(state, approval.as_object()?)?,
            (state, None) => Self::plain_state(state, fields)?,
        };
        let of_server = fields.get("providerExecuted") == Some(&Value::Bool(true));
        let input = fields.get("input").cloned().unwrap_or(Value::Null);
        Some(Self {
            call: ToolCall { id: text("toolCallId")?, tool: tool.to_owned(), input, of_server },
            end,
        })
    }

    /// The state of a call without an approval.
    fn plain_state(state: &str, fields: &Map<String, Value>) -> Option<CallPartState> {
        Some(match state {
            "input-available" => CallPartState::Open,
            "output-available" => CallPartState::Done(fields.get("output")?.clone()),
            "output-error" => CallPartState::Failed(fields.get("errorText")?.as_str()?.to_owned()),
            _ => return None,
        })
    }

    fn to_value(&self) -> Value {
        let ToolCall { id, tool, input, of_server } = &self.call;
        let mut part = match tool.as_str() {
            // `tool-invocation` is a format of its own, not a tool of that name.
            "invocation" => {
                json!({ "type": "dynamic-tool", "toolName": tool, "toolCallId": id, "input": input })
            }
            _ => json!({ "type": format!("tool-{tool}"), "toolCallId": id, "input": input }),
        };
        if *of_server {
            part["providerExecuted"] = true.into();
        }
        let (state, name, value) = match &self.end {
            CallPartState::Open => ("input-available", "", Value::Null),
            CallPartState::Done(output) => ("output-available", "output", output.clone()),
            CallPartState::Failed(why) if *of_server => ("output-error", "errorText", why.as_str().into()),
            CallPartState::Failed(why) => ("output-available", "output", json!({ "error": why })),
            CallPartState::ApprovalRequested(approval) => {
                ("approval-requested", "approval", approval.to_value())
            }
            CallPartState::ApprovalAnswered { approval, approved, reason } => {
                let mut value = approval.to_value();
                value["approved"] = (*approved).into();
                if let Some(reason) = reason {
                    value["reason"] = reason.as_str().into();
                }
                ("approval-responded", "approval", value)
            }
        };
        part["state"] = state.into();
        if self.end != CallPartState::Open {
            part[name] = value;
        }
        part
    }
}

impl Serialize for MessagePart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => json!({ "type": "text", "text": text, "state": "done" }),
            Self::Reasoning(text) => json!({ "type": "reasoning", "text": text, "state": "done" }),
            Self::Step => json!({ "type": "step-start" }),
            Self::File { media_type, url } => json!({ "type": "file", "mediaType": media_type, "url": url }),
            Self::Call(part) => part.to_value(),
            Self::Other(value) => return value.serialize(serializer),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for MessagePart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from_value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: Value) -> Message {
        serde_json::from_value(message).unwrap()
    }

    #[test]
    fn a_message_is_the_same_after_it_was_stored() {
        let stored = json!({ "id": "m", "role": "assistant", "metadata": { "a": 1 }, "parts": [
            { "type": "step-start" },
            { "type": "text", "text": "Hi", "state": "done" },
            { "type": "text", "text": "cited", "state": "done", "providerMetadata": { "x": 1 } },
            { "type": "reasoning", "text": "hm", "state": "done" },
            { "type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AA" },
            { "type": "file", "mediaType": "image/png", "url": "u", "filename": "f" },
            { "type": "data-tool", "id": "c1", "data": { "name": "x" } },
            { "type": "tool-add", "toolCallId": "c1", "input": { "a": 1 }, "providerExecuted": true,
                "state": "output-available", "output": { "ok": true } },
            { "type": "tool-add", "toolCallId": "c2", "input": {}, "providerExecuted": true, "state": "output-error", "errorText": "no" },
            { "type": "tool-ask", "toolCallId": "c3", "input": {}, "state": "input-available" },
            { "type": "tool-ask", "toolCallId": "c4", "input": {}, "state": "approval-requested", "approval": { "id": "a" } },
            { "type": "tool-ask", "toolCallId": "c4a", "input": {}, "state": "approval-responded",
                "approval": { "id": "a", "signature": "s", "approved": false, "reason": "no" } },
            { "type": "tool-ask", "toolCallId": "c4b", "input": {}, "state": "approval-requested",
                "approval": { "id": "a", "descriptor": 1 } },
            { "type": "tool-ask", "toolCallId": "c4c", "input": {}, "state": "output-available", "output": 1,
                "approval": { "id": "a", "approved": true } },
            { "type": "dynamic-tool", "toolName": "x", "toolCallId": "c5", "input": {}, "state": "output-available", "output": null },
        ] });
        let message = read(stored.clone());
        assert_eq!(serde_json::to_value(&message).unwrap(), stored);
        assert_eq!(message.text(), "Hi\ncited");
        assert_eq!(
            message.call_ids().collect::<Vec<_>>(),
            ["c1", "c2", "c3", "c4", "c4a", "c4b", "c4c", "c5"]
        );
        assert!(
            matches!(&message.parts[7], MessagePart::Call(part) if part.call.tool == "add" && part.call.of_server)
        );
    }

    #[test]
    fn messages_of_older_clients_are_read() {
        let says = |text: &str| vec![MessagePart::Text(text.to_owned())];
        assert_eq!(read(json!({ "role": "user", "content": "hi" })), Message::user("hi"));
        assert_eq!(read(json!({ "role": "user", "content": "hi", "parts": [] })).parts, says("hi"));
        let both = json!({ "role": "user", "content": "a", "parts": [{ "type": "text", "text": "b" }] });
        assert_eq!(read(both).parts, says("b"));
        let openai = read(json!({ "role": "tool", "tool_call_id": "c", "content": "noon" }));
        assert_eq!(openai.parts, says("noon"));
        assert_eq!(serde_json::to_value(openai).unwrap()["tool_call_id"], "c");
        assert_eq!(read(json!({ "role": "assistant", "content": null, "tool_calls": [] })).parts, []);
        for wrong in
            [json!({ "content": "x" }), json!({ "role": "robot" }), json!({ "role": "user", "content": 5 })]
        {
            assert!(serde_json::from_value::<Message>(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_model_reads_a_failure_of_a_client_tool_as_an_error() {
        let part = |tool: &str, of_server| {
            let call = ToolCall { of_server, ..ToolCall::new("c", tool, json!({})) };
            serde_json::to_value(MessagePart::Call(CallPart {
                call,
                end: CallPartState::Failed("no".to_owned()),
            }))
            .unwrap()
        };
        assert_eq!(part("t", true)["errorText"], "no");
        assert_eq!(
            (&part("t", false)["state"], &part("t", false)["output"]),
            (&json!("output-available"), &json!({ "error": "no" }))
        );
        assert_eq!(part("invocation", false)["type"], "dynamic-tool");
    }
}
