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
}

fn is_false(value: &bool) -> bool {
    !*value
}

/// Encodes a chat request, unless it is too large for any server.
pub(super) fn encode_request(
    draft: &RequestDraft,
    chat_id: Option<&str>,
    resumable: bool,
    max_steps: Option<u32>,
) -> Result<Bytes, ChatError> {
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
            serde_json::from_slice(&encode_request(&draft, None, false, None).unwrap()).unwrap();
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
        let full: Value =
            serde_json::from_slice(&encode_request(&draft, Some("c1"), true, Some(3)).unwrap()).unwrap();
        assert_eq!(
            full,
            json!({ "id": "c1", "trigger": "submit-message", "messages": [message], "model": "m", "system": "s", "maxSteps": 3,
                "resumable": true, "selectedToolCategories": ["c"],
                "clientTools": [{ "name": "t", "description": "d", "parameters": { "type": "object" } }] })
        );
    }

    #[test]
    fn a_request_too_large_for_any_server_is_not_sent() {
        let draft = RequestDraft::new(vec![Message::user("x".repeat(MAX_REQUEST_BYTES))]);
        let error = encode_request(&draft, None, false, None).unwrap_err();
        assert!(matches!(error, ChatError::TooLarge { limit: MAX_REQUEST_BYTES, .. }), "{error}");
    }
}
