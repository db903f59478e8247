//! Chat messages as clients send them, parsed into one form.
//!
//! Tool results come back in many shapes: parts `tool-<name>` and `dynamic-tool` (AI SDK 5 and later), parts
//! `tool-invocation` with the call inside (AI SDK 4) or flat (hustle-incognito 1), lists `toolInvocations` (AI SDK 4 and older
//! hustle-incognito), lists `tool_calls` (OpenAI) or `toolCalls` with messages of role `tool`, and the parts `tool-call` and
//! `tool-result` of the AI SDK's model messages. All of them are untrusted client input.

use serde_json::{Map, Value};

use crate::problem::Problem;

/// Lists of calls whose results are separate messages.
const CALL_LISTS: [&str; 2] = ["tool_calls", "toolCalls"];
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

fn has_calls(fields: &Map<String, Value>) -> bool {
    CALL_LISTS.iter().any(|list| fields.contains_key(*list)) || fields.contains_key("toolInvocations")
}

fn str_field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str)
}

/// The call id, as the AI SDK or OpenAI spells it.
fn call_id(fields: &Map<String, Value>) -> Option<&str> {
    ["toolCallId", "tool_call_id"].iter().find_map(|name| str_field(fields, name)).filter(|id| !id.is_empty())
}

fn push_text(parts: &mut Vec<ChatPart>, text: &str) {
    if !text.is_empty() {
        parts.push(ChatPart::Text(text.to_owned()));
    }
}

fn parse_parts(list: &[Value], path: &str, parts: &mut Vec<ChatPart>) -> Result<(), Problem> {
    if list.len() > MAX_PARTS {
        return Err(Problem::new(path, format!("{} parts; at most {MAX_PARTS}", list.len())));
    }
    for (index, part) in list.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let Value::Object(fields) = part else { return Err(Problem::new(path, "expected an object")) };
        let kind = str_field(fields, "type")
            .ok_or_else(|| Problem::new(format!("{path}.type"), "expected a text"))?;
        match kind {
            "text" | "input_text" | "output_text" => {
                push_text(parts, str_field(fields, "text").unwrap_or_default())
            }
            "step-start" => parts.push(ChatPart::Step),
            "refusal" => push_text(parts, str_field(fields, "refusal").unwrap_or_default()),
            "file" if !fields.contains_key("file") => parts.extend(parse_file(fields)),
            "image_url" | "input_image" | "input_audio" | "input_file" | "file" => {
                parts.push(parse_openai_file(kind, fields, &path)?);
            }
            "tool-invocation" => match fields.get("toolInvocation") {
                Some(Value::Object(inside)) => parts.push(parse_older_call(inside, &path)?),
                // The flat form has the name beside it; the tool is not called "invocation".
                _ => parts.push(parse_current_call(fields, str_field(fields, "toolName"), &path)?),
            },
            "dynamic-tool" => parts.push(parse_current_call(fields, str_field(fields, "toolName"), &path)?),
            // Model messages of the AI SDK; the tools are not called "call" and "result".
            "tool-call" if str_field(fields, "toolName").is_some() => {
                parts.push(parse_listed_call(part, &path)?)
            }
            "tool-result" if str_field(fields, "toolName").is_some() => {
                parts.push(parse_tool_result(fields, &path)?)
            }
            kind => {
                if let Some(name) = kind.strip_prefix("tool-") {
                    parts.push(parse_current_call(fields, Some(name), &path)?);
                }
                // Reasoning, sources and data are not for the model.
            }
        }
    }
    Ok(())
}

fn parse_file(fields: &Map<String, Value>) -> Option<ChatPart> {
    let media_type =
        str_field(fields, "mediaType").or_else(|| str_field(fields, "mimeType")).unwrap_or_default();
    let url = match (str_field(fields, "url"), str_field(fields, "data")) {
        (Some(url), _) => url.to_owned(),
        (None, Some(data)) => format!("data:{media_type};base64,{data}"),
        (None, None) => return None,
    };
    Some(ChatPart::File { media_type: media_type.to_owned(), url })
}

/// Images, audio and files as OpenAI clients send them: by URL or inline. Uploaded files are rejected, because they are
/// stored elsewhere.
fn parse_openai_file(kind: &str, fields: &Map<String, Value>, path: &str) -> Result<ChatPart, Problem> {
    let about = fields.get(kind).filter(|inside| inside.is_object());
    let member = |name: &str| {
        let found = about.and_then(|inside| inside.get(name)).or_else(|| fields.get(name));
        found.and_then(Value::as_str).filter(|text| !text.is_empty())
    };
    let found = match kind {
        "image_url" | "input_image" => {
            member("url").or_else(|| member("image_url")).map(|url| ("image/*".to_owned(), url.to_owned()))
        }
        "input_audio" => member("data").map(|data| {
            let media_type = format!("audio/{}", member("format").unwrap_or("wav"));
            (media_type.clone(), format!("data:{media_type};base64,{data}"))
        }),
        _ => member("file_data").or_else(|| member("file_url")).map(|data| match data.contains(':') {
            true => (String::new(), data.to_owned()),
            false => ("application/pdf".to_owned(), format!("data:application/pdf;base64,{data}")),
        }),
    };
    match found {
        Some((media_type, url)) => Ok(ChatPart::File { media_type, url }),
        None => Err(Problem::new(
            path,
            format!("{kind}: expected a URL or the data itself; this server stores no files"),
        )),
    }
}

/// AI SDK 5 and later, and the flat form.
fn parse_current_call(
    fields: &Map<String, Value>,
    name: Option<&str>,
    path: &str,
) -> Result<ChatPart, Problem> {
    let take = |name: &str| fields.get(name).cloned().unwrap_or(Value::Null);
    let approval = fields.get("approval");
    let reason = || approval.and_then(|approval| approval["reason"].as_str()).map(str::to_owned);
    let state = match str_field(fields, "state") {
        Some("output-available") if fields.get("preliminary") != Some(&Value::Bool(true)) => {
            CallState::Done(take("output"))
        }
        Some("output-error") => {
            CallState::Failed(str_field(fields, "errorText").unwrap_or("it failed").to_owned())
        }
        Some("output-denied") => CallState::Denied(reason()),
        Some("approval-responded") if approval.is_some_and(|approval| approval["approved"] == false) => {
            CallState::Denied(reason())
        }
        _ => CallState::Open,
    };
    build_call(fields, name, take("input"), state, path)
}

/// AI SDK 4, and hustle-incognito before 1.
fn parse_older_call(fields: &Map<String, Value>, path: &str) -> Result<ChatPart, Problem> {
    let take = |name: &str| fields.get(name).cloned().unwrap_or(Value::Null);
    let state = match str_field(fields, "state") {
        Some("result") => CallState::Done(take("result")),
        _ => CallState::Open,
    };
    build_call(fields, str_field(fields, "toolName"), take("args"), state, path)
}

fn build_call(
    fields: &Map<String, Value>,
    name: Option<&str>,
    input: Value,
    state: CallState,
    path: &str,
) -> Result<ChatPart, Problem> {
    let missing = |member: &str| Problem::new(format!("{path}.{member}"), "expected a text");
    let name = name.filter(|name| !name.is_empty()).ok_or_else(|| missing("toolName"))?.to_owned();
    let id = str_field(fields, "toolCallId")
        .filter(|id| !id.is_empty())
        .ok_or_else(|| missing("toolCallId"))?
        .to_owned();
    let input = if input.is_null() { Value::Object(Map::new()) } else { input };
    Ok(ChatPart::Call(ChatCall { id, name, input, state }))
}

/// Calls next to the content. If the parts contain calls as well, the parts win.
fn parse_sibling_calls(
    fields: &Map<String, Value>,
    path: &str,
    parts: &mut Vec<ChatPart>,
) -> Result<(), Problem> {
    if parts.iter().any(|part| matches!(part, ChatPart::Call(_))) {
        return Ok(());
    }
    if let Some(Value::Array(list)) = fields.get("toolInvocations") {
        for (index, one) in list.iter().take(MAX_PARTS).enumerate() {
            if let Value::Object(one) = one {
                parts.push(parse_older_call(one, &format!("{path}.toolInvocations[{index}]"))?);
            }
        }
    }
    for list_name in CALL_LISTS {
        // A client that sends both spellings means the same calls.
        if parts.iter().any(|part| matches!(part, ChatPart::Call(_))) {
            break;
        }
        let Some(Value::Array(list)) = fields.get(list_name) else { continue };
        for (index, one) in list.iter().take(MAX_PARTS).enumerate() {
            parts.push(parse_listed_call(one, &format!("{path}.{list_name}[{index}]"))?);
        }
    }
    Ok(())
}

/// A call without its result: OpenAI's `{id, function: {name, arguments}}`, or `{toolCallId, toolName, args}` as a stream
/// sends it. Arguments are a JSON string or the JSON itself.
fn parse_listed_call(one: &Value, path: &str) -> Result<ChatPart, Problem> {
    let first =
        |names: &[&str]| names.iter().find_map(|name| one.get(*name)).filter(|found| !found.is_null());
    let function = &one["function"];
    let id = first(&["toolCallId", "tool_call_id", "id"]).and_then(Value::as_str);
    let name = function["name"].as_str().or_else(|| first(&["toolName", "name"]).and_then(Value::as_str));
    let (Some(id), Some(name)) = (id.filter(|id| !id.is_empty()), name.filter(|name| !name.is_empty()))
    else {
        let expected = "expected `id` and `function.name`, or `toolCallId` and `toolName`";
        return Err(Problem::new(path, expected));
    };
    let arguments = function.get("arguments").or_else(|| first(&["args", "input", "arguments"]));
    let input = match arguments {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_| Value::Object(Map::new())),
        Some(Value::Null) | None => Value::Object(Map::new()),
        Some(arguments) => arguments.clone(),
    };
    Ok(ChatPart::Call(ChatCall { id: id.to_owned(), name: name.to_owned(), input, state: CallState::Open }))
}

/// A result in a model message of the AI SDK: `output: {type, value}` since version 5, `result` before.
fn parse_tool_result(fields: &Map<String, Value>, path: &str) -> Result<ChatPart, Problem> {
    let id = call_id(fields).ok_or_else(|| Problem::new(format!("{path}.toolCallId"), "expected a text"))?;
    let output = match (fields.get("output"), fields.get("result")) {
        (Some(output), _) if output.get("type").is_some() => match output.get("value") {
            Some(value) => value.clone(),
            None => output.get("reason").cloned().unwrap_or_default(),
        },
        (Some(output), _) => output.clone(),
        (None, result) => result.cloned().unwrap_or_default(),
    };
    Ok(ChatPart::ToolOutput { id: id.to_owned(), output })
}

/// Attachments of AI SDK 4.
fn parse_attachments(fields: &Map<String, Value>, parts: &mut Vec<ChatPart>) {
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
        parse_message(&message, "messages[0]").unwrap().parts
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
        assert_eq!(parts(answer), [ChatPart::ToolOutput { id: "c1".to_owned(), output: json!("noon") }]);
    }

    #[test]
    fn calls_and_results_as_messages_of_their_own() {
        let open = ChatPart::Call(ChatCall {
            id: "c1".to_owned(),
            name: "get_time".to_owned(),
            input: json!({ "tz": "UTC" }),
            state: CallState::Open,
        });
        let streamed = json!({ "toolCallId": "c1", "toolName": "get_time", "args": { "tz": "UTC" } });
        let openai = json!({ "id": "c1", "type": "function",
            "function": { "name": "get_time", "arguments": "{\"tz\":\"UTC\"}" } });
        let flat = json!({ "id": "c1", "name": "get_time", "arguments": "{\"tz\":\"UTC\"}" });
        let newer = json!({ "toolCallId": "c1", "toolName": "get_time", "input": { "tz": "UTC" } });
        for list in ["toolCalls", "tool_calls"] {
            for call in [&streamed, &openai, &flat, &newer] {
                let with_text = json!({ "role": "assistant", "content": "", list: [call] });
                assert_eq!(parts(with_text), std::slice::from_ref(&open), "{list} {call}");
                let alone = json!({ "role": "assistant", list: [call] });
                assert_eq!(parts(alone), std::slice::from_ref(&open));
            }
        }
        let answer = |output: Value| [ChatPart::ToolOutput { id: "c1".to_owned(), output }];
        for id in ["toolCallId", "tool_call_id"] {
            let message = json!({ "role": "tool", "content": "{\"t\":1}", id: "c1" });
            assert_eq!(parts(message), answer(json!("{\"t\":1}")));
            assert_eq!(parts(json!({ "role": "tool", id: "c1" })), answer(json!("")));
        }
        let part = |more: Value| {
            let mut part = json!({ "toolCallId": "c1", "toolName": "get_time" });
            part.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            part
        };
        let call = part(json!({ "type": "tool-call", "input": { "tz": "UTC" } }));
        assert_eq!(parts(json!({ "role": "assistant", "content": [call] })), [open]);
        for (more, output) in [
            (json!({ "output": { "type": "json", "value": { "t": 1 } } }), json!({ "t": 1 })),
            (json!({ "output": { "type": "error-text", "value": "no" } }), json!("no")),
            (json!({ "output": { "type": "execution-denied", "reason": "why" } }), json!("why")),
            (json!({ "result": { "t": 1 } }), json!({ "t": 1 })),
        ] {
            let mut result = part(more);
            result["type"] = json!("tool-result");
            assert_eq!(parts(json!({ "role": "tool", "content": [result] })), answer(output));
        }
    }

    #[test]
    fn failures_denials_and_open_calls_are_distinguished() {
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
        let openai = |part: Value| parts(json!({ "role": "user", "content": [part] }));
        let file = |media_type: &str, url: &str| {
            [ChatPart::File { media_type: media_type.to_owned(), url: url.to_owned() }]
        };
        for (part, expected) in [
            (
                json!({ "type": "image_url", "image_url": { "url": "https://e/x" } }),
                file("image/*", "https://e/x"),
            ),
            (json!({ "type": "input_image", "image_url": "https://e/x" }), file("image/*", "https://e/x")),
            (
                json!({ "type": "input_audio", "input_audio": { "data": "AA", "format": "mp3" } }),
                file("audio/mp3", "data:audio/mp3;base64,AA"),
            ),
            (
                json!({ "type": "file", "file": { "file_data": "data:text/plain;base64,AA", "filename": "a" } }),
                file("", "data:text/plain;base64,AA"),
            ),
            (
                json!({ "type": "input_file", "file_data": "AA" }),
                file("application/pdf", "data:application/pdf;base64,AA"),
            ),
            (json!({ "type": "input_file", "file_url": "https://e/x" }), file("", "https://e/x")),
        ] {
            assert_eq!(openai(part.clone()), expected, "{part}");
        }
        assert_eq!(
            openai(json!({ "type": "refusal", "refusal": "No." })),
            [ChatPart::Text("No.".to_owned())]
        );
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
            (
                json!({ "role": "user", "content": [{ "type": "input_image", "file_id": "f" }] }),
                "content[0]: input_image: expected a URL",
            ),
            (json!({ "role": "assistant", "tool_calls": [{}] }), "tool_calls[0]: expected `id`"),
            (
                json!({ "role": "user", "parts": vec![json!({ "type": "text" }); MAX_PARTS + 1] }),
                "2001 parts; at most 2000",
            ),
        ] {
            let error = parse_message(&message, "messages[0]").unwrap_err().to_string();
            assert!(error.contains(why), "{why}: {error}");
        }
    }
}
