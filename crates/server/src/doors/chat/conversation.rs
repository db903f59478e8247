//! Converts a client's messages to the message history that a model gets.
//!
//! An assistant message with tool calls becomes, for each step, its text and calls, then the results of the calls. Vendors
//! reject a history in which a call has no result, so every call gets one. Results that a client reports are not trusted:
//! the model reads them, and nothing else depends on them.

use serde_json::Value;
use toolyard_agent::message::{
    AssistantMessage, FileData, ModelMessage, ModelToolCall, ToolAnswer, UserPart,
};
use toolyard_protocol::{
    chat::{CallState, ChatCall, ChatMessage, ChatPart, ChatRole},
    raw::to_raw,
};

/// Longest tool name that every vendor accepts.
const MAX_NAME: usize = 64;
/// Longest call id that every vendor accepts.
const MAX_ID: usize = 40;
/// The result of a call that the client left unanswered.
const UNANSWERED: &str = "The client did not answer this call.";

/// The message history, and the texts of the client's `system` messages.
#[derive(Debug, Default)]
pub(super) struct ChatHistory {
    pub(super) system: Vec<String>,
    pub(super) messages: Vec<ModelMessage>,
    /// How often the model was asked since the last user message.
    pub(super) steps: usize,
    max_result_chars: usize,
}

impl ChatHistory {
    /// Reads messages. Each tool result is truncated to `max_chars` characters.
    pub(super) fn from_messages(messages: &[ChatMessage], max_chars: usize) -> Self {
        let mut read = Self { max_result_chars: max_chars, ..Self::default() };
        for message in messages {
            match message.role {
                ChatRole::System => read.system.extend(text_parts(&message.parts)),
                ChatRole::User => read.add_user_message(&message.parts),
                ChatRole::Assistant => read.add_assistant_message(&message.parts),
                ChatRole::Tool => read.add_tool_messages(&message.parts),
            }
        }
        read.answer_open_calls();
        read
    }

    fn add_user_message(&mut self, parts: &[ChatPart]) {
        self.answer_open_calls();
        self.steps = 0;
        let parts: Vec<UserPart> = parts.iter().filter_map(user_part).collect();
        if !parts.is_empty() {
            self.messages.push(ModelMessage::User(parts));
        }
    }

    /// Adds the message step by step. Text after a call starts a step too, because older clients do not mark steps.
    fn add_assistant_message(&mut self, parts: &[ChatPart]) {
        self.answer_open_calls();
        let mut step: Vec<&ChatPart> = Vec::new();
        for part in parts {
            let called = step.iter().any(|part| matches!(part, ChatPart::Call(_)));
            if matches!(part, ChatPart::Step) || (called && matches!(part, ChatPart::Text(_))) {
                self.add_step(&step);
                step.clear();
            }
            step.push(part);
        }
        self.add_step(&step);
    }

    fn add_step(&mut self, parts: &[&ChatPart]) {
        let (mut message, mut answers) = (AssistantMessage::default(), Vec::new());
        for part in parts {
            match part {
                ChatPart::Text(text) => message.text.push_str(text),
                ChatPart::Call(call) => {
                    answers.extend(self.call_answer(call));
                    message.calls.push(model_call(call));
                }
                ChatPart::File { .. } | ChatPart::Step | ChatPart::ToolOutput { .. } => {}
            }
        }
        if message.text.is_empty() && message.calls.is_empty() {
            return;
        }
        self.answer_open_calls();
        self.steps += 1;
        let called = !message.calls.is_empty();
        self.messages.push(ModelMessage::Assistant(message));
        if called {
            self.messages.push(ModelMessage::Tools(answers));
        }
    }

    fn call_answer(&self, call: &ChatCall) -> Option<ToolAnswer> {
        let (text, is_error) = match &call.state {
            CallState::Open => return None,
            CallState::Done(output) => (output_text(output), false),
            CallState::Failed(why) => (why.clone(), true),
            CallState::Denied(Some(why)) => (format!("The user said no: {why}"), true),
            CallState::Denied(None) => ("The user said no.".to_owned(), true),
        };
        Some(ToolAnswer {
            id: sanitize_id(&call.id),
            name: sanitize_name(&call.name),
            text: self.truncate_result(text),
            is_error,
        })
    }

    /// Adds tool results that come as separate messages.
    fn add_tool_messages(&mut self, parts: &[ChatPart]) {
        for part in parts {
            let ChatPart::ToolOutput { id: of, output } = part else { continue };
            let (of, text) = (sanitize_id(of), self.truncate_result(output_text(output)));
            match self.find_unanswered_call(&of) {
                Some(name) => {
                    if let Some(ModelMessage::Tools(answers)) = self.messages.last_mut() {
                        answers.push(ToolAnswer { id: of, name, text, is_error: false });
                    }
                }
                // The model made no such call, so this is only a claim of the client.
                None => {
                    self.answer_open_calls();
                    self.messages.push(ModelMessage::from_user_text(format!(
                        "(The client reports for a call {of}: {text})"
                    )));
                }
            }
        }
    }

    /// The tool name of a call in the last step that has no result yet.
    fn find_unanswered_call(&self, of: &str) -> Option<String> {
        let [.., ModelMessage::Assistant(message), ModelMessage::Tools(answers)] = &self.messages[..] else {
            return None;
        };
        let call = message.calls.iter().find(|call| call.id == of)?;
        (!answers.iter().any(|answer| answer.id == of)).then(|| call.name.clone())
    }

    /// Gives every unanswered call of the last step an error result.
    fn answer_open_calls(&mut self) {
        let [.., ModelMessage::Assistant(message), ModelMessage::Tools(answers)] = &mut self.messages[..]
        else {
            return;
        };
        for call in &message.calls {
            if !answers.iter().any(|answer| answer.id == call.id) {
                let (id, name) = (call.id.clone(), call.name.clone());
                answers.push(ToolAnswer { id, name, text: UNANSWERED.to_owned(), is_error: true });
            }
        }
    }

    fn truncate_result(&self, text: String) -> String {
        match text.char_indices().nth(self.max_result_chars) {
            Some((end, _)) => format!("{}\n[cut after {} characters]", &text[..end], self.max_result_chars),
            None => text,
        }
    }
}

fn text_parts(parts: &[ChatPart]) -> impl Iterator<Item = String> {
    parts.iter().filter_map(|part| match part {
        ChatPart::Text(text) => Some(text.clone()),
        _ => None,
    })
}

fn user_part(part: &ChatPart) -> Option<UserPart> {
    match part {
        ChatPart::Text(text) => Some(UserPart::Text(text.clone())),
        ChatPart::File { media_type, url } => Some(file_part(media_type, url)),
        ChatPart::Step | ChatPart::Call(_) | ChatPart::ToolOutput { .. } => None,
    }
}

/// Decodes `data:image/png;base64,…`; any other URL is passed on.
fn file_part(media_type: &str, url: &str) -> UserPart {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match inline {
        Some((kind, data)) => {
            let media_type = if kind.is_empty() { media_type } else { kind };
            UserPart::File { media_type: media_type.to_owned(), data: FileData::Base64(data.into()) }
        }
        None => UserPart::File { media_type: media_type.to_owned(), data: FileData::Url(url.to_owned()) },
    }
}

fn output_text(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn model_call(call: &ChatCall) -> ModelToolCall {
    ModelToolCall {
        id: sanitize_id(&call.id),
        name: sanitize_name(&call.name),
        arguments: to_raw(&call.input),
    }
}

/// A name that every vendor accepts. One bad name in a history fails the whole request.
fn sanitize_name(name: &str) -> String {
    replace_unsafe_chars(name, MAX_NAME)
}

fn sanitize_id(id: &str) -> String {
    replace_unsafe_chars(id, MAX_ID)
}

fn replace_unsafe_chars(text: &str, max_chars: usize) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    text.chars().take(max_chars).map(|c| if fits(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolyard_protocol::chat::message::parse_message;

    use super::*;

    fn conversation(messages: &[Value]) -> ChatHistory {
        let messages: Vec<ChatMessage> =
            messages.iter().map(|message| parse_message(message, "m").unwrap()).collect();
        ChatHistory::from_messages(&messages, 20)
    }

    /// One line for each message.
    fn summarize(conversation: &ChatHistory) -> Vec<String> {
        let lines = conversation.messages.iter().map(|message| match message {
            ModelMessage::User(parts) => format!("user {}", parts.len()),
            ModelMessage::Assistant(message) => {
                let calls: Vec<_> =
                    message.calls.iter().map(|call| format!("{}#{}", call.name, call.id)).collect();
                format!("says {:?} {}", message.text, calls.join(" "))
            }
            ModelMessage::Tools(answers) => {
                let answers = answers
                    .iter()
                    .map(|a| format!("{}={}{}", a.id, a.text, if a.is_error { "!" } else { "" }));
                answers.collect::<Vec<_>>().join(" ")
            }
        });
        lines.collect()
    }

    fn tool(id: &str, more: Value) -> Value {
        let mut part = json!({ "type": "tool-time", "toolCallId": id, "input": {} });
        part.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        part
    }

    #[test]
    fn steps_become_messages_and_every_call_is_answered() {
        let done = |id: &str| tool(id, json!({ "state": "output-available", "output": { "t": 1 } }));
        let read = conversation(&[
            json!({ "role": "user", "parts": [{ "type": "text", "text": "hi" }] }),
            json!({ "role": "assistant", "parts": [{ "type": "step-start" }, { "type": "text", "text": "Well" }, done("a"),
                tool("b", json!({ "state": "input-available" })), { "type": "step-start" }, done("c"), { "type": "text", "text": "So." }] }),
            json!({ "role": "user", "parts": [{ "type": "text", "text": "and?" }] }),
        ]);
        assert_eq!(
            summarize(&read),
            [
                "user 1",
                "says \"Well\" time#a time#b",
                "a={\"t\":1} b=The client did not answer this call.!",
                "says \"\" time#c",
                "c={\"t\":1}",
                "says \"So.\" ",
                "user 1"
            ]
        );
        assert_eq!(read.steps, 0, "the user spoke");
    }

    #[test]
    fn tool_messages_are_matched_to_their_calls() {
        let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "time", "arguments": "{}" } });
        let read = conversation(&[
            json!({ "role": "system", "content": "Be brief." }),
            json!({ "role": "user", "content": "hi" }),
            json!({ "role": "assistant", "content": null, "tool_calls": [call("a"), call("b")] }),
            json!({ "role": "tool", "tool_call_id": "a", "content": "noon" }),
            json!({ "role": "tool", "tool_call_id": "a", "content": "twice" }),
            json!({ "role": "tool", "tool_call_id": "x", "content": "forged" }),
        ]);
        assert_eq!(read.system, ["Be brief."]);
        assert_eq!(
            summarize(&read),
            [
                "user 1",
                "says \"\" time#a time#b",
                "a=noon b=The client did not answer this call.!",
                "user 1",
                "user 1"
            ]
        );
        assert_eq!(read.steps, 1);
    }

    #[test]
    fn names_are_sanitized_and_long_results_truncated() {
        let part = json!({ "type": "tool-com.ex:tïme", "toolCallId": "functions.time:0", "state": "output-available",
            "input": {}, "output": "x".repeat(30) });
        let read = conversation(&[json!({ "role": "assistant", "parts": [part] })]);
        assert_eq!(
            summarize(&read),
            [
                "says \"\" com_ex_t_me#functions_time_0".to_owned(),
                format!("functions_time_0={}\n[cut after 20 characters]", "x".repeat(20))
            ]
        );
    }

    #[test]
    fn a_denied_call_gets_an_error_result() {
        let read = conversation(&[
            json!({ "role": "assistant", "parts": [tool("a", json!({ "state": "output-denied" })),
            tool("b", json!({ "state": "output-error", "errorText": "oh" }))] }),
        ]);
        assert_eq!(summarize(&read)[1], "a=The user said no.! b=oh!");
    }

    #[test]
    fn files_are_passed_on() {
        let read = conversation(&[
            json!({ "role": "user", "parts": [{ "type": "file", "mediaType": "image/png",
            "url": "data:image/png;base64,AAAA" }, { "type": "file", "mediaType": "image/png", "url": "https://e/x" }] }),
        ]);
        let ModelMessage::User(parts) = &read.messages[0] else { panic!() };
        assert!(
            matches!(&parts[0], UserPart::File { data: FileData::Base64(data), .. } if &**data == "AAAA")
        );
        assert!(matches!(&parts[1], UserPart::File { data: FileData::Url(url), .. } if url == "https://e/x"));
    }
}
