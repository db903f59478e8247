//! Calls and their results.
//!
//! They come back in many shapes: parts `tool-<name>` and `dynamic-tool` (AI SDK 5 and later), parts
//! `tool-invocation` with the call inside (AI SDK 4) or flat (hustle-incognito 1), lists `toolInvocations` (AI SDK 4 and older
//! hustle-incognito), lists `tool_calls` (OpenAI) or `toolCalls` with messages of role `tool`, and the parts `tool-call` and
//! `tool-result` of the AI SDK's model messages. All of them are untrusted client input.

use serde_json::{Map, Value};

use super::{CallApproval, CallState, ChatCall, ChatPart, MAX_PARTS, str_field};
use crate::problem::Problem;

/// Lists of calls whose results are separate messages.
const CALL_LISTS: [&str; 2] = ["tool_calls", "toolCalls"];

pub(super) fn has_calls(fields: &Map<String, Value>) -> bool {
    CALL_LISTS.iter().any(|list| fields.contains_key(*list)) || fields.contains_key("toolInvocations")
}

/// The call id, as the AI SDK or OpenAI spells it.
pub(super) fn call_id(fields: &Map<String, Value>) -> Option<&str> {
    ["toolCallId", "tool_call_id"].iter().find_map(|name| str_field(fields, name)).filter(|id| !id.is_empty())
}

/// AI SDK 5 and later, and the flat form.
pub(super) fn parse_current_call(
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
        .map(|call| ChatPart::Call(ChatCall { approval: open_approval(fields), ..call }))
}

/// The approval of a call that has no result yet.
fn open_approval(fields: &Map<String, Value>) -> Option<CallApproval> {
    let approval = fields.get("approval")?.as_object()?;
    let approved = match str_field(fields, "state") {
        Some("approval-requested") => None,
        Some("approval-responded") => approval.get("approved").and_then(Value::as_bool),
        _ => return None,
    };
    let id = str_field(approval, "id")?.to_owned();
    let reason = str_field(approval, "reason").filter(|reason| !reason.is_empty()).map(str::to_owned);
    Some(CallApproval { id, approved, reason })
}

/// AI SDK 4, and hustle-incognito before 1.
pub(super) fn parse_older_call(fields: &Map<String, Value>, path: &str) -> Result<ChatPart, Problem> {
    let take = |name: &str| fields.get(name).cloned().unwrap_or(Value::Null);
    let state = match str_field(fields, "state") {
        Some("result") => CallState::Done(take("result")),
        _ => CallState::Open,
    };
    build_call(fields, str_field(fields, "toolName"), take("args"), state, path).map(ChatPart::Call)
}

fn build_call(
    fields: &Map<String, Value>,
    name: Option<&str>,
    input: Value,
    state: CallState,
    path: &str,
) -> Result<ChatCall, Problem> {
    let missing = |member: &str| Problem::new(format!("{path}.{member}"), "expected a text");
    let name = name.filter(|name| !name.is_empty()).ok_or_else(|| missing("toolName"))?.to_owned();
    let id = str_field(fields, "toolCallId")
        .filter(|id| !id.is_empty())
        .ok_or_else(|| missing("toolCallId"))?
        .to_owned();
    let input = if input.is_null() { Value::Object(Map::new()) } else { input };
    Ok(ChatCall { id, name, input, state, approval: None })
}

/// Calls next to the content. If the parts contain calls as well, the parts win.
pub(super) fn parse_sibling_calls(
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
pub(super) fn parse_listed_call(one: &Value, path: &str) -> Result<ChatPart, Problem> {
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
    let (id, name) = (id.to_owned(), name.to_owned());
    Ok(ChatPart::Call(ChatCall { id, name, input, state: CallState::Open, approval: None }))
}

/// A result in a model message of the AI SDK: `output: {type, value}` since version 5, `result` before.
pub(super) fn parse_tool_result(fields: &Map<String, Value>, path: &str) -> Result<ChatPart, Problem> {
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
