//! `input`: a string, or items. Messages, calls and results become chat messages. Reasoning items are left out, because they
//! were encrypted for another server. Items that need storage or hosted tools are rejected.

use serde_json::{Map, Value};

use crate::{
    chat::{
        message::{self, CallState, ChatCall, ChatMessage, ChatPart, ChatRole},
        request::MAX_MESSAGES,
    },
    problem::Problem,
};

/// The conversation, and every problem in it.
pub(super) fn parse_input(input: Option<&Value>) -> (Vec<ChatMessage>, Vec<Problem>) {
    let problem = |why: String| (Vec::new(), vec![Problem::new("input", why)]);
    match input {
        None | Some(Value::Null) => problem("missing; send a text or the whole conversation".to_owned()),
        Some(Value::String(text)) if text.is_empty() => problem("empty; send a text or items".to_owned()),
        Some(Value::String(text)) => {
            (vec![single_part_message(ChatRole::User, ChatPart::Text(text.clone()))], Vec::new())
        }
        Some(Value::Array(items)) if items.is_empty() => problem("empty; send a text or items".to_owned()),
        Some(Value::Array(items)) if items.len() > MAX_MESSAGES => {
            problem(format!("at most {MAX_MESSAGES} items"))
        }
        Some(Value::Array(items)) => {
            let (mut messages, mut problems) = (Vec::new(), Vec::new());
            for (index, item) in items.iter().enumerate() {
                if let Err(problem) = parse_item(item, &format!("input[{index}]"), &mut messages) {
                    problems.push(problem);
                }
            }
            (messages, problems)
        }
        Some(_) => problem("expected a text or a list of items".to_owned()),
    }
}

fn single_part_message(role: ChatRole, part: ChatPart) -> ChatMessage {
    ChatMessage { id: None, role, parts: vec![part] }
}

fn parse_item(item: &Value, path: &str, messages: &mut Vec<ChatMessage>) -> Result<(), Problem> {
    let Value::Object(fields) = item else {
        return Err(Problem::new(path, "expected an item, such as a message"));
    };
    match fields.get("type").and_then(Value::as_str) {
        None | Some("message") => messages.push(message::parse_message(item, path)?),
        Some("function_call") => {
            let call = ChatPart::Call(parse_function_call(fields, path)?);
            match messages.last_mut().filter(|last| last.role == ChatRole::Assistant) {
                // Text and calls of one model step are one message.
                Some(last) => last.parts.push(call),
                None => messages.push(single_part_message(ChatRole::Assistant, call)),
            }
        }
        Some("function_call_output") => {
            messages.push(single_part_message(ChatRole::Tool, parse_call_output(fields, path)?))
        }
        Some("reasoning") => {}
        Some("item_reference") => {
            let text = "this server stores no items; send the whole conversation";
            return Err(Problem::new(format!("{path}.type"), text));
        }
        Some(other) => {
            let other: String = other.chars().take(64).collect();
            let text =
                format!("items of type {other} are not supported; the server runs its own tools itself");
            return Err(Problem::new(format!("{path}.type"), text));
        }
    }
    Ok(())
}

fn required_str<'a>(fields: &'a Map<String, Value>, name: &str, path: &str) -> Result<&'a str, Problem> {
    let found = fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    found.ok_or_else(|| Problem::new(format!("{path}.{name}"), "expected a text"))
}

fn parse_function_call(fields: &Map<String, Value>, path: &str) -> Result<ChatCall, Problem> {
    let (id, name) = (required_str(fields, "call_id", path)?, required_str(fields, "name", path)?);
    let arguments = fields.get("arguments").and_then(Value::as_str).unwrap_or_default();
    let input = serde_json::from_str(arguments).unwrap_or_else(|_| Value::Object(Map::new()));
    Ok(ChatCall { id: id.to_owned(), name: name.to_owned(), input, state: CallState::Open, approval: None })
}

/// A result is a string, or parts of which models read the text.
fn parse_call_output(fields: &Map<String, Value>, path: &str) -> Result<ChatPart, Problem> {
    let id = required_str(fields, "call_id", path)?.to_owned();
    let output = match fields.get("output") {
        Some(Value::String(text)) => Value::String(text.clone()),
        Some(Value::Array(parts)) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            Value::String(texts.join("\n"))
        }
        _ => return Err(Problem::new(format!("{path}.output"), "expected a text or a list of parts")),
    };
    Ok(ChatPart::ToolOutput { id, output })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn roles(input: &Value) -> Vec<(ChatRole, usize)> {
        let (messages, problems) = parse_input(Some(input));
        assert_eq!(problems, [], "{input}");
        messages.iter().map(|message| (message.role, message.parts.len())).collect()
    }

    #[test]
    fn items_become_messages() {
        let call = |id: &str| json!({ "type": "function_call", "id": "fc_1", "call_id": id, "name": "f", "arguments": "{\"a\":1}" });
        let result = |id: &str| json!({ "type": "function_call_output", "call_id": id, "output": "1" });
        let message = json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": "Let me see.", "annotations": [] }] });
        let input = json!([{ "role": "developer", "content": "Be brief." }, { "role": "user", "content": "hi" },
            { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x" },
            message, call("c1"), call("c2"), result("c1"), result("c2"), call("c3"), result("c3")]);
        assert_eq!(
            roles(&input),
            [
                (ChatRole::System, 1),
                (ChatRole::User, 1),
                (ChatRole::Assistant, 3),
                (ChatRole::Tool, 1),
                (ChatRole::Tool, 1),
                (ChatRole::Assistant, 1),
                (ChatRole::Tool, 1)
            ]
        );
        assert_eq!(roles(&json!("hi")), [(ChatRole::User, 1)]);
        let picture = json!([{ "role": "user", "content": [{ "type": "input_text", "text": "look" },
            { "type": "input_image", "image_url": "data:image/png;base64,AA" }, { "type": "input_file", "file_url": "https://e/x.pdf" }] }]);
        assert_eq!(roles(&picture), [(ChatRole::User, 3)]);
        let parts = json!([call("c"), { "type": "function_call_output", "call_id": "c", "output": [{ "type": "input_text", "text": "a" }] }]);
        assert_eq!(roles(&parts), [(ChatRole::Assistant, 1), (ChatRole::Tool, 1)]);
    }

    #[test]
    fn what_is_not_known_is_named() {
        for (input, path) in [
            (json!(null), "input"),
            (json!(""), "input"),
            (json!([]), "input"),
            (json!(5), "input"),
            (json!([5]), "input[0]"),
            (json!([{ "type": "item_reference", "id": "x" }]), "input[0].type"),
            (json!([{ "type": "web_search_call", "id": "x" }]), "input[0].type"),
            (json!([{ "type": "function_call", "name": "f" }]), "input[0].call_id"),
            (json!([{ "type": "function_call_output", "call_id": "c" }]), "input[0].output"),
            (json!([{ "role": "robot", "content": "x" }]), "input[0].role"),
            (json!(vec![json!({ "role": "user", "content": "x" }); MAX_MESSAGES + 1]), "input"),
        ] {
            let (_, problems) = parse_input(Some(&input));
            assert_eq!(problems[0].path, path, "{problems:?}");
        }
    }
}
