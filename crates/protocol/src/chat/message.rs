//! Messages of a chat as clients send them, read into one form.
//!
//! Results of tools come back in seven shapes: parts `tool-<name>` and `dynamic-tool` (AI SDK 5 and later), parts
//! `tool-invocation` with the call inside (AI SDK 4) or flat (hustle-incognito 1), lists `toolInvocations` (AI SDK 4 and older
//! hustle-incognito), and OpenAI's `tool_calls` with messages of role `tool`. All of them are what a client claims, no more.

use serde_json::{Map, Value};

use crate::problem::Problem;

/// Most parts of one message.
pub const MAX_PARTS: usize = 2_000;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The user.
    User,
    /// The model, and what its calls came to.
    Assistant,
    /// Whoever wrote the client.
    System,
    /// What calls came to, as OpenAI's clients send it.
    Tool,
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatMessage {
    /// Its id, where the client gives one.
    pub id: Option<String>,
    /// Who speaks.
    pub role: Role,
    /// What is said, in order. What models do not read is left out.
    pub parts: Vec<ChatPart>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatPart {
    /// Words.
    Text(String),
    /// An image or another file, by URL; data URLs too.
    File {
        /// Such as `image/png`; empty where the client does not say.
        media_type: String,
        /// Where it is.
        url: String,
    },
    /// The model was asked anew.
    Step,
    /// A call, with what it came to.
    Call(ChatCall),
    /// What a call of an earlier message came to.
    Answer {
        /// The call.
        id: String,
        /// Its result.
        output: Value,
    },
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatCall {
    /// Ties everything together.
    pub id: String,
    /// The tool, as the model called it.
    pub name: String,
    /// Its arguments.
    pub input: Value,
    /// What came of it.
    pub state: CallState,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallState {
    /// Nothing yet.
    Open,
    /// A result.
    Done(Value),
    /// It failed.
    Failed(String),
    /// Somebody said no.
    Denied(Option<String>),
}

/// Reads messages; what cannot be read is named, not guessed.
pub(super) fn read_messages(list: &[Value]) -> (Vec<ChatMessage>, Vec<Problem>) {
    let (mut messages, mut problems) = (Vec::new(), Vec::new());
    for (index, message) in list.iter().enumerate() {
        match read(message, &format!("messages[{index}]")) {
            Ok(message) => messages.push(message),
            Err(problem) => problems.push(problem),
        }
    }
    (messages, problems)
}

/// Reads one message.
pub fn read(message: &Value, path: &str) -> Result<ChatMessage, Problem> {
    let problem = |member: &str, why: &str| Problem::new(format!("{path}{member}"), why);
    let Value::Object(fields) = message else {
        return Err(problem("", "expected a message with `role` and `content` or `parts`"));
    };
    let role = match text(fields, "role") {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        Some("tool") => Role::Tool,
        _ => return Err(problem(".role", "expected user, assistant, system or tool")),
    };
    let mut parts = Vec::new();
    match (fields.get("parts"), fields.get("content")) {
        (Some(Value::Array(list)), content) if !list.is_empty() || content.is_none() => {
            read_parts(list, &format!("{path}.parts"), &mut parts)?;
        }
        (_, Some(Value::String(content))) => push_text(&mut parts, content),
        (_, Some(Value::Array(list))) => read_parts(list, &format!("{path}.content"), &mut parts)?,
        (_, Some(Value::Null)) | (Some(Value::Array(_)), None) => {}
        (None, None) if has_calls(fields) => {}
        _ => return Err(problem("", "expected `content`, a text, or `parts`, a list")),
    }
    if role == Role::Tool {
        let id = text(fields, "tool_call_id").ok_or_else(|| problem(".tool_call_id", "missing"))?;
        let output = Value::String(joined(&parts));
        parts = vec![ChatPart::Answer { id: id.to_owned(), output }];
    }
    files_beside(fields, &mut parts);
    calls_beside(fields, path, &mut parts)?;
    Ok(ChatMessage { id: text(fields, "id").map(str::to_owned), role, parts })
}

/// The words of parts, one after the other.
fn joined(parts: &[ChatPart]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        ChatPart::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn has_calls(fields: &Map<String, Value>) -> bool {
    fields.contains_key("tool_calls") || fields.contains_key("toolInvocations")
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str)
}

fn push_text(parts: &mut Vec<ChatPart>, text: &str) {
    if !text.is_empty() {
        parts.push(ChatPart::Text(text.to_owned()));
    }
}

fn read_parts(list: &[Value], path: &str, parts: &mut Vec<ChatPart>) -> Result<(), Problem> {
    if list.len() > MAX_PARTS {
        return Err(Problem::new(path, format!("{} parts; at most {MAX_PARTS}", list.len())));
    }
    for (index, part) in list.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let Value::Object(fields) = part else { return Err(Problem::new(path, "expected an object")) };
        let kind =
            text(fields, "type").ok_or_else(|| Problem::new(format!("{path}.type"), "expected a text"))?;
        match kind {
            "text" | "input_text" | "output_text" => {
                push_text(parts, text(fields, "text").unwrap_or_default())
            }
            "step-start" => parts.push(ChatPart::Step),
            "file" => parts.extend(file(fields)),
            "image_url" => {
                let url = fields.get("image_url").and_then(|image| image["url"].as_str()).unwrap_or_default();
                parts.push(ChatPart::File { media_type: "image/*".to_owned(), url: url.to_owned() });
            }
            "tool-invocation" => match fields.get("toolInvocation") {
                Some(Value::Object(inside)) => parts.push(older(inside, &path)?),
                // The flat one has the name beside it; it is no tool called "invocation".
                _ => parts.push(newer(fields, text(fields, "toolName"), &path)?),
            },
            "dynamic-tool" => parts.push(newer(fields, text(fields, "toolName"), &path)?),
            kind => {
                if let Some(name) = kind.strip_prefix("tool-") {
                    parts.push(newer(fields, Some(name), &path)?);
                }
                // Thoughts, sources, data: not for a model.
            }
        }
    }
    Ok(())
}

fn file(fields: &Map<String, Value>) -> Option<ChatPart> {
    let media_type = text(fields, "mediaType").or_else(|| text(fields, "mimeType")).unwrap_or_default();
    let url = match (text(fields, "url"), text(fields, "data")) {
        (Some(url), _) => url.to_owned(),
        (None, Some(data)) => format!("data:{media_type};base64,{data}"),
        (None, None) => return None,
    };
    Some(ChatPart::File { media_type: media_type.to_owned(), url })
}

/// AI SDK 5 and later, and the flat form.
fn newer(fields: &Map<String, Value>, name: Option<&str>, path: &str) -> Result<ChatPart, Problem> {
    let take = |name: &str| fields.get(name).cloned().unwrap_or(Value::Null);
    let approval = fields.get("approval");
    let reason = || approval.and_then(|approval| approval["reason"].as_str()).map(str::to_owned);
    let state = match text(fields, "state") {
        Some("output-available") if fields.get("preliminary") != Some(&Value::Bool(true)) => {
            CallState::Done(take("output"))
        }
        Some("output-error") => {
            CallState::Failed(text(fields, "errorText").unwrap_or("it failed").to_owned())
        }
        Some("output-denied") => CallState::Denied(reason()),
        Some("approval-responded") if approval.is_some_and(|approval| approval["approved"] == false) => {
            CallState::Denied(reason())
        }
        _ => CallState::Open,
    };
    call(fields, name, take("input"), state, path)
}

/// AI SDK 4, and hustle-incognito before 1.
fn older(fields: &Map<String, Value>, path: &str) -> Result<ChatPart, Problem> {
    let take = |name: &str| fields.get(name).cloned().unwrap_or(Value::Null);
    let state = match text(fields, "state") {
        Some("result") => CallState::Done(take("result")),
        _ => CallState::Open,
    };
    call(fields, text(fields, "toolName"), take("args"), state, path)
}

fn call(
    fields: &Map<String, Value>,
    name: Option<&str>,
    input: Value,
    state: CallState,
    path: &str,
) -> Result<ChatPart, Problem> {
    let missing = |member: &str| Problem::new(format!("{path}.{member}"), "expected a text");
    let name = name.filter(|name| !name.is_empty()).ok_or_else(|| missing("toolName"))?.to_owned();
    let id = text(fields, "toolCallId")
        .filter(|id| !id.is_empty())
        .ok_or_else(|| missing("toolCallId"))?
        .to_owned();
    let input = if input.is_null() { Value::Object(Map::new()) } else { input };
    Ok(ChatPart::Call(ChatCall { id, name, input, state }))
}

/// Calls that stand beside the content. Where the parts have them as well, the parts are right.
fn calls_beside(fields: &Map<String, Value>, path: &str, parts: &mut Vec<ChatPart>) -> Result<(), Problem> {
    if parts.iter().any(|part| matches!(part, ChatPart::Call(_))) {
        return Ok(());
    }
    if let Some(Value::Array(list)) = fields.get("toolInvocations") {
        for (index, one) in list.iter().take(MAX_PARTS).enumerate() {
            if let Value::Object(one) = one {
                parts.push(older(one, &format!("{path}.toolInvocations[{index}]"))?);
            }
        }
    }
    if let Some(Value::Array(list)) = fields.get("tool_calls") {
        for (index, one) in list.iter().take(MAX_PARTS).enumerate() {
            let path = format!("{path}.tool_calls[{index}]");
            let (id, function) = (one["id"].as_str(), &one["function"]);
            let (Some(id), Some(name)) = (id, function["name"].as_str()) else {
                return Err(Problem::new(path, "expected `id` and `function.name`"));
            };
            let arguments = function["arguments"].as_str().unwrap_or_default();
            let input = serde_json::from_str(arguments).unwrap_or_else(|_| Value::Object(Map::new()));
            let call = ChatCall { id: id.to_owned(), name: name.to_owned(), input, state: CallState::Open };
            parts.push(ChatPart::Call(call));
        }
    }
    Ok(())
}

/// Attachments of AI SDK 4.
fn files_beside(fields: &Map<String, Value>, parts: &mut Vec<ChatPart>) {
    let Some(Value::Array(list)) = fields.get("experimental_attachments") else { return };
    if parts.iter().any(|part| matches!(part, ChatPart::File { .. })) {
        return;
    }
    for file in list.iter().take(MAX_PARTS) {
        if let Some(url) = file["url"].as_str() {
            let media_type = file["contentType"].as_str().unwrap_or_default().to_owned();
            parts.push(ChatPart::File { media_type, url: url.to_owned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parts(message: Value) -> Vec<ChatPart> {
        read(&message, "messages[0]").unwrap().parts
    }

    fn done(output: Value) -> ChatPart {
        ChatPart::Call(ChatCall {
            id: "c1".to_owned(),
            name: "get_time".to_owned(),
            input: json!({ "tz": "UTC" }),
            state: CallState::Done(output),
        })
    }

    #[test]
    fn results_of_tools_come_back_in_many_shapes() {
        let newer = |kind: &str| {
            json!({ "role": "assistant", "parts": [{ "type": kind, "toolName": "get_time", "toolCallId": "c1",
                "state": "output-available", "input": { "tz": "UTC" }, "output": { "t": 1 } }] })
        };
        for kind in ["tool-get_time", "dynamic-tool", "tool-invocation"] {
            assert_eq!(parts(newer(kind)), [done(json!({ "t": 1 }))], "{kind}");
        }
        let older = json!({ "state": "result", "step": 0, "toolCallId": "c1", "toolName": "get_time",
            "args": { "tz": "UTC" }, "result": "{\"t\":1}" });
        let nested = json!({ "role": "assistant", "content": "", "parts": [{ "type": "step-start" },
            { "type": "tool-invocation", "toolInvocation": older }], "toolInvocations": [older] });
        assert_eq!(parts(nested), [ChatPart::Step, done(json!("{\"t\":1}"))], "once");
        let flat = json!({ "role": "assistant", "content": "", "toolInvocations": [older] });
        assert_eq!(parts(flat), [done(json!("{\"t\":1}"))]);
        let open = json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": "c1", "type": "function",
            "function": { "name": "get_time", "arguments": "{\"tz\":\"UTC\"}" } }] });
        assert!(
            matches!(&parts(open)[..], [ChatPart::Call(call)] if call.state == CallState::Open && call.input["tz"] == "UTC")
        );
        let answer =
            json!({ "role": "tool", "tool_call_id": "c1", "content": [{ "type": "text", "text": "noon" }] });
        assert_eq!(parts(answer), [ChatPart::Answer { id: "c1".to_owned(), output: json!("noon") }]);
    }

    #[test]
    fn failures_denials_and_open_calls_are_told_apart() {
        let state = |more: Value| {
            let mut part = json!({ "type": "tool-x", "toolCallId": "c" });
            part.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            match parts(json!({ "role": "assistant", "parts": [part] })).remove(0) {
                ChatPart::Call(call) => call.state,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            state(json!({ "state": "output-error", "errorText": "no" })),
            CallState::Failed("no".to_owned())
        );
        assert_eq!(state(json!({ "state": "output-denied" })), CallState::Denied(None));
        let said_no = json!({ "state": "approval-responded", "approval": { "id": "a", "approved": false, "reason": "why" } });
        assert_eq!(state(said_no), CallState::Denied(Some("why".to_owned())));
        for open in ["input-streaming", "input-available", "approval-requested"] {
            assert_eq!(state(json!({ "state": open })), CallState::Open);
        }
        assert_eq!(
            state(json!({ "state": "output-available", "preliminary": true, "output": 1 })),
            CallState::Open
        );
    }

    #[test]
    fn words_and_files_are_read_and_the_rest_is_left_out() {
        let message = json!({ "role": "user", "id": "m", "parts": [{ "type": "text", "text": "hi" }, { "type": "reasoning", "text": "x" },
            { "type": "data-x", "data": 1 }, { "type": "file", "mediaType": "image/png", "url": "https://e/x.png" },
            { "type": "file", "mimeType": "image/png", "data": "AAAA" }] });
        assert_eq!(
            parts(message),
            [
                ChatPart::Text("hi".to_owned()),
                ChatPart::File { media_type: "image/png".to_owned(), url: "https://e/x.png".to_owned() },
                ChatPart::File {
                    media_type: "image/png".to_owned(),
                    url: "data:image/png;base64,AAAA".to_owned()
                },
            ]
        );
        let attached = json!({ "role": "user", "content": "look", "experimental_attachments": [{ "contentType": "image/png",
            "name": "n", "url": "data:image/png;base64,AA" }] });
        assert_eq!(parts(attached).len(), 2);
        let openai = json!({ "role": "user", "content": [{ "type": "text", "text": "hi" }, { "type": "image_url", "image_url": { "url": "u" } }] });
        assert_eq!(parts(openai).len(), 2);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (message, why) in [
            (json!({ "role": "user" }), "messages[0]: expected `content`"),
            (json!({ "role": "user", "content": 5 }), "messages[0]: expected `content`"),
            (json!({ "role": "user", "parts": [5] }), "messages[0].parts[0]: expected an object"),
            (json!({ "role": "user", "parts": [{}] }), "messages[0].parts[0].type: expected a text"),
            (
                json!({ "role": "assistant", "parts": [{ "type": "tool-x" }] }),
                "parts[0].toolCallId: expected a text",
            ),
            (
                json!({ "role": "assistant", "parts": [{ "type": "dynamic-tool", "toolCallId": "c" }] }),
                "parts[0].toolName",
            ),
            (json!({ "role": "tool", "content": "x" }), "messages[0].tool_call_id: missing"),
            (json!({ "role": "assistant", "tool_calls": [{}] }), "tool_calls[0]: expected `id`"),
            (
                json!({ "role": "user", "parts": vec![json!({ "type": "text" }); MAX_PARTS + 1] }),
                "2001 parts; at most 2000",
            ),
        ] {
            let told = read(&message, "messages[0]").unwrap_err().to_string();
            assert!(told.contains(why), "{why}: {told}");
        }
    }
}
