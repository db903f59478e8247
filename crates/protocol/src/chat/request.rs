//! The body of `POST /api/chat`. Several kinds of clients send it; unknown fields are ignored.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    client_tool::{ClientTool, RawClientTool},
    message::{ChatMessage, ChatPart, parse_messages},
    read_body,
};
use crate::{problem::Problem, secret::SecretText};

/// Maximum number of messages of one request.
pub const MAX_MESSAGES: usize = 2_000;

/// The stream format a client understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatProtocol {
    /// AI SDK 5 and later, and our own SDK.
    Ui,
    /// AI SDK 4 and hustle-incognito.
    V1,
}

impl ChatProtocol {
    /// The format with that name.
    pub fn from_name(text: &str) -> Option<Self> {
        match text {
            "ui" => Some(Self::Ui),
            "v1" => Some(Self::V1),
            _ => None,
        }
    }
}

/// A chat request.
#[derive(Debug)]
pub struct ChatRequest {
    /// The chat id, chosen by the client.
    pub id: Option<String>,
    /// The conversation.
    pub messages: Vec<ChatMessage>,
    /// Tools that the client runs.
    pub client_tools: Vec<ClientTool>,
    /// Only tools of these categories; if empty, tools are selected automatically.
    pub categories: Vec<String>,
    /// Only these tools, by alias or canonical name; `None` means all.
    pub only: Option<Vec<String>>,
    /// Excluded tools.
    pub without: Vec<String>,
    /// Maximum number of requests to the model.
    pub max_steps: Option<u64>,
    /// The model.
    pub model: Option<String>,
    /// The system prompt.
    pub system: Option<String>,
    /// A credential in the body, as some clients send it.
    pub api_key: Option<SecretText>,
    /// Whether the response continues if the client disconnects, and can be resumed.
    pub resumable: bool,
    /// Whether the client shows approval requests and sends the answers.
    pub approvals: bool,
    /// The stream format, detected from the request.
    pub protocol: ChatProtocol,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChatRequestFields {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    messages: Vec<Value>,
    #[serde(default)]
    trigger: Option<String>,
    #[serde(default)]
    client_tools: Option<Vec<RawClientTool>>,
    /// The other spelling: a map by name.
    #[serde(default)]
    tools: Option<Value>,
    #[serde(default)]
    selected_tool_categories: Option<Vec<String>>,
    #[serde(default)]
    exact_tool_names: Option<Vec<String>>,
    #[serde(default)]
    ignore_other_tools: Option<bool>,
    #[serde(default)]
    excluded_tools: Option<Vec<String>>,
    #[serde(default)]
    max_steps: Option<u64>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    system: Option<String>,
    #[serde(default)]
    override_system_prompt: Option<String>,
    #[serde(default)]
    api_key: Option<SecretText>,
    #[serde(default)]
    resumable: Option<bool>,
    #[serde(default)]
    approvals: Option<bool>,
}

impl ChatRequest {
    /// Parses a body and reports every problem.
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Problem>> {
        let body: ChatRequestFields = read_body(body)?;
        let mut problems = Vec::new();
        if body.messages.is_empty() {
            problems.push(Problem::new("messages", "missing or empty; send the whole conversation"));
        }
        if body.messages.len() > MAX_MESSAGES {
            problems.push(Problem::new("messages", format!("at most {MAX_MESSAGES}")));
        }
        let protocol = detect_protocol(body.trigger.is_some(), &body.messages);
        let (messages, more) = parse_messages(&body.messages);
        problems.extend(more);
        let mut raw_tools = body.client_tools.unwrap_or_default();
        raw_tools.extend(tools_from_map(body.tools.as_ref()));
        let mut client_tools = Vec::new();
        for (index, tool) in raw_tools.into_iter().enumerate() {
            match tool.into_client_tool(&format!("clientTools[{index}]")) {
                Ok(tool) => client_tools.push(tool),
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let listed = |list: Option<Vec<String>>| list.unwrap_or_default();
        Ok(Self {
            id: body.id,
            client_tools,
            categories: listed(body.selected_tool_categories),
            only: (body.ignore_other_tools == Some(true)).then(|| listed(body.exact_tool_names)),
            without: listed(body.excluded_tools),
            max_steps: body.max_steps,
            model: body.model.filter(|model| !model.is_empty()),
            system: body.override_system_prompt.or(body.system).filter(|text| !text.is_empty()),
            api_key: body.api_key.filter(|key| !key.expose().is_empty()),
            resumable: body.resumable.unwrap_or(false),
            approvals: body.approvals.unwrap_or(false) || messages.iter().any(has_open_approval),
            messages,
            protocol,
        })
    }
}

/// Only a client that knows approvals has calls that wait for one.
fn has_open_approval(message: &ChatMessage) -> bool {
    message.parts.iter().any(|part| matches!(part, ChatPart::Call(call) if call.approval.is_some()))
}

/// Clients do not name their protocol, so it is detected: newer ones send a trigger, or messages that have parts and
/// no content.
fn detect_protocol(has_trigger: bool, messages: &[Value]) -> ChatProtocol {
    let newer = |message: &Value| message.get("parts").is_some() && message.get("content").is_none();
    if has_trigger || messages.iter().any(newer) { ChatProtocol::Ui } else { ChatProtocol::V1 }
}

fn tools_from_map(tools: Option<&Value>) -> Vec<RawClientTool> {
    let Some(Value::Object(map)) = tools else { return Vec::new() };
    let tools = map.iter().filter_map(|(name, about)| {
        let about: &Map<String, Value> = about.as_object()?;
        Some(RawClientTool {
            name: Value::String(name.clone()),
            description: about.get("description").cloned(),
            parameters: about.get("parameters").cloned(),
        })
    });
    tools.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: &Value) -> Result<ChatRequest, Vec<String>> {
        ChatRequest::parse(body.to_string().as_bytes())
            .map_err(|problems| problems.iter().map(Problem::to_string).collect())
    }

    #[test]
    fn the_stream_follows_from_the_form() {
        let v1 = json!({ "messages": [{ "role": "user", "content": "hi" }] });
        let both = json!({ "messages": [{ "role": "user", "content": "hi", "parts": [{ "type": "text", "text": "hi" }] }] });
        let parts = json!({ "messages": [{ "role": "user", "parts": [{ "type": "text", "text": "hi" }] }] });
        let trigger =
            json!({ "messages": [{ "role": "user", "content": "hi" }], "trigger": "submit-message" });
        for (body, protocol) in [
            (v1, ChatProtocol::V1),
            (both, ChatProtocol::V1),
            (parts, ChatProtocol::Ui),
            (trigger, ChatProtocol::Ui),
        ] {
            assert_eq!(read(&body).unwrap().protocol, protocol, "{body}");
        }
    }

    #[test]
    fn a_request_of_another_family_is_understood() {
        let request = read(&json!({ "id": "chat-v", "messages": [{ "role": "user", "content": "time?" }], "apiKey": "k",
            "vaultId": "v", "slippageSettings": { "lpSlippage": 5 }, "currentPath": null, "attachments": [],
            "selectedToolCategories": [], "exactToolNames": ["a"], "excludedTools": ["b"], "overrideSystemPrompt": "Be brief.",
            "clientTools": [{ "name": "get_local_time", "description": "d", "parameters": { "type": "object", "properties": {} } }] }))
        .unwrap();
        assert_eq!((request.api_key.unwrap().expose(), request.system.as_deref()), ("k", Some("Be brief.")));
        assert_eq!((request.only, request.without.len(), request.client_tools.len()), (None, 1, 1));
    }

    #[test]
    fn tools_may_come_as_a_map_and_an_empty_one_is_none() {
        let body = |tools: Value| json!({ "messages": [{ "role": "user", "content": "x" }], "tools": tools });
        let read_one =
            read(&body(json!({ "chart": { "description": "d", "parameters": { "type": "object" } } })))
                .unwrap();
        assert_eq!(read_one.client_tools[0].name, "chart");
        assert!(read(&body(json!({}))).unwrap().client_tools.is_empty());
    }

    #[test]
    fn everything_that_is_wrong_is_named() {
        assert_eq!(
            read(&json!({})).unwrap_err(),
            ["messages: missing or empty; send the whole conversation"]
        );
        let wrong = read(
            &json!({ "messages": [{ "role": "robot", "content": "x" }, 5], "clientTools": [{ "name": 5 }] }),
        );
        assert_eq!(
            wrong.unwrap_err(),
            [
                "messages[0].role: expected user, assistant, system or tool",
                "messages[1]: expected a message with `role` and `content` or `parts`",
                "clientTools[0].name: expected a text"
            ]
        );
        assert_eq!(read(&json!({ "messages": 5 })).unwrap_err().len(), 1);
        assert!(ChatRequest::parse(br#"{"messages":[{"role":"user","content":"x"}]} {}"#).is_err());
        let many = vec![json!({ "role": "user", "content": "x" }); MAX_MESSAGES + 1];
        assert_eq!(read(&json!({ "messages": many })).unwrap_err(), ["messages: at most 2000"]);
    }
}
