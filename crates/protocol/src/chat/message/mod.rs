//! Chat messages as clients send them, parsed into one form.
//!
//! | look for | in |
//! | --- | --- |
//! | texts, images and other files | `parts` |
//! | calls and their results, in every shape | `calls` |

mod calls;
mod parts;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use self::{
    calls::{call_id, has_calls, parse_sibling_calls},
    parts::{parse_attachments, parse_parts, push_text},
};
use crate::problem::Problem;

/// Maximum number of parts of one message.
pub const MAX_PARTS: usize = 2_000;

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatRole {
    /// The user.
    User,
    /// The model, with the results of its calls.
    Assistant,
    /// The developer of the client.
    System,
    /// The result of a call, as OpenAI clients send it.
    Tool,
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatMessage {
    /// Its id, if the client sends one.
    pub id: Option<String>,
    /// The author.
    pub role: ChatRole,
    /// The content, in order. Parts that models do not read are left out.
    pub parts: Vec<ChatPart>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatPart {
    /// Text.
    Text(String),
    /// An image or another file, by URL; data URLs too.
    File {
        /// Such as `image/png`; empty if the client does not send it.
        media_type: String,
        /// The URL.
        url: String,
    },
    /// A new request to the model started.
    Step,
    /// A call and its result.
    Call(ChatCall),
    /// The result of a call in an earlier message.
    ToolOutput {
        /// The call.
        id: String,
        /// Its result.
        output: Value,
    },
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatCall {
    /// The call id.
    pub id: String,
    /// The tool, as the model called it.
    pub name: String,
    /// Its arguments.
    pub input: Value,
    /// Its state.
    pub state: CallState,
    /// The approval that it waits for, as the client reports it.
    pub approval: Option<CallApproval>,
}

/// The approval of a call, as a client reports it. It proves nothing: the server looks it up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallApproval {
    /// The id of the approval.
    pub id: String,
    /// The user's answer, if there is one.
    pub approved: Option<bool>,
    /// What the user said with it.
    pub reason: Option<String>,
}

/// The state of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallState {
    /// No result yet.
    Open,
    /// A result.
    Done(Value),
    /// It failed.
    Failed(String),
    /// Rejected, with an optional reason.
    Denied(Option<String>),
}

/// Parses messages; reports each one that is invalid.
pub(super) fn parse_messages(list: &[Value]) -> (Vec<ChatMessage>, Vec<Problem>) {
    let (mut messages, mut problems) = (Vec::new(), Vec::new());
    for (index, message) in list.iter().enumerate() {
        match parse_message(message, &format!("messages[{index}]")) {
            Ok(message) => messages.push(message),
            Err(problem) => problems.push(problem),
        }
    }
    (messages, problems)
}

/// Parses one message.
pub fn parse_message(message: &Value, path: &str) -> Result<ChatMessage, Problem> {
    let problem = |member: &str, why: &str| Problem::new(format!("{path}{member}"), why);
    let Value::Object(fields) = message else {
        return Err(problem("", "expected a message with `role` and `content` or `parts`"));
    };
    let role = match str_field(fields, "role") {
        Some("user") => ChatRole::User,
        Some("assistant") => ChatRole::Assistant,
        Some("system" | "developer") => ChatRole::System,
        Some("tool") => ChatRole::Tool,
        _ => return Err(problem(".role", "expected user, assistant, system or tool")),
    };
    let mut parts = Vec::new();
    // An `undefined` result has no JSON, so its message has no content.
    let may_be_empty = has_calls(fields) || role == ChatRole::Tool;
    match (fields.get("parts"), fields.get("content")) {
        (Some(Value::Array(list)), content) if !list.is_empty() || content.is_none() => {
            parse_parts(list, &format!("{path}.parts"), &mut parts)?;
        }
        (_, Some(Value::String(content))) => push_text(&mut parts, content),
        (_, Some(Value::Array(list))) => parse_parts(list, &format!("{path}.content"), &mut parts)?,
        (_, Some(Value::Null)) | (Some(Value::Array(_)), None) => {}
        (None, None) if may_be_empty => {}
        _ => return Err(problem("", "expected `content`, a text, or `parts`, a list")),
    }
    let answers = |part: &ChatPart| matches!(part, ChatPart::ToolOutput { .. });
    if role == ChatRole::Tool && !parts.iter().any(answers) {
        let id = call_id(fields)
            .ok_or_else(|| problem(".tool_call_id", "missing; send it as `tool_call_id` or `toolCallId`"))?;
        let output = Value::String(join_texts(&parts));
        parts = vec![ChatPart::ToolOutput { id: id.to_owned(), output }];
    }
    parse_attachments(fields, &mut parts);
    parse_sibling_calls(fields, path, &mut parts)?;
    Ok(ChatMessage { id: str_field(fields, "id").map(str::to_owned), role, parts })
}

/// The texts of the parts, joined by line breaks.
fn join_texts(parts: &[ChatPart]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        ChatPart::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn str_field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str)
}
