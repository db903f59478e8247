//! The body of a chat request.

use bytes::Bytes;
use serde::Serialize;
use toolyard_protocol::{chat::ClientTool, raw::to_raw};

use super::ChatError;
use crate::{message::Message, plugin::RequestDraft};

/// Largest request, in bytes. By default servers accept 8 MiB.
pub const MAX_REQUEST_BYTES: usize = 32 * 1024 * 1024;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChatPostBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    trigger: &'static str,
    messages: &'a [Message],
    /// Omitted if empty.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    client_tools: &'a [ClientTool],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    selected_tool_categories: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_steps: Option<u32>,
    #[serde(skip_serializing_if = "is_false")]
    resumable: bool,
    #[serde(skip_serializing_if = "is_false")]
    approvals: bool,
}

/// What a request says about the chat, besides its draft.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ChatOptions<'a> {
    pub(super) chat_id: Option<&'a str>,
    pub(super) resumable: bool,
    pub(super) max_steps: Option<u32>,
    /// Whether the user can be asked about server tools.
    pub(super) approvals: bool,
}

fn is_false(value: &bool) -> bool {
    !*value
}

/// Encodes a chat request, unless it is too large for any server.
pub(super) fn encode_request(draft: &RequestDraft, options: ChatOptions<'_>) -> Result<Bytes, ChatError> {
    let ChatOptions { chat_id, resumable, max_steps, approvals } = options;
    let body = ChatPostBody {
        id: chat_id,
        trigger: "submit-message",
        messages: &draft.messages,
        client_tools: draft.tools(),
        selected_tool_categories: &draft.categories,
        model: draft.model.as_deref(),
        system: draft.system.as_deref(),
        max_steps,
        resumable,
        approvals,
    };
    let json = to_raw(&body);
    match json.get().len() {
        bytes if bytes > MAX_REQUEST_BYTES => Err(ChatError::TooLarge { bytes, limit: MAX_REQUEST_BYTES }),
        _ => Ok(Bytes::copy_from_slice(json.get().as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_request_omits_what_is_not_set() {
        let draft = RequestDraft::new(vec![Message::user("hi")]);
        let bare: Value =
            serde_json::from_slice(&encode_request(&draft, ChatOptions::default()).unwrap()).unwrap();
        let message = json!({ "role": "user", "parts": [{ "type": "text", "text": "hi", "state": "done" }] });
        assert_eq!(bare, json!({ "trigger": "submit-message", "messages": [message] }));
        let tool = ClientTool {
            name: "t".to_owned(),
            description: "d".to_owned(),
            parameters: json!({ "type": "object" }),
        };
        let mut draft = draft.with_round(1, vec![tool]);
        (draft.model, draft.system, draft.categories) =
            (Some("m".to_owned()), Some("s".to_owned()), vec!["c".to_owned()]);
        let options =
            ChatOptions { chat_id: Some("c1"), resumable: true, max_steps: Some(3), approvals: true };
        let full: Value = serde_json::from_slice(&encode_request(&draft, options).unwrap()).unwrap();
        assert_eq!(
            full,
            json!({ "id": "c1", "trigger": "submit-message", "messages": [message], "model": "m", "system": "s", "maxSteps": 3,
                "resumable": true, "approvals": true, "selectedToolCategories": ["c"],
                "clientTools": [{ "name": "t", "description": "d", "parameters": { "type": "object" } }] })
        );
    }

    #[test]
    fn a_request_too_large_for_any_server_is_not_sent() {
        let draft = RequestDraft::new(vec![Message::user("x".repeat(MAX_REQUEST_BYTES))]);
        let error = encode_request(&draft, ChatOptions::default()).unwrap_err();
        assert!(matches!(error, ChatError::TooLarge { limit: MAX_REQUEST_BYTES, .. }), "{error}");
    }
}
