//! What a conversation has read before, by the calls in its history.
//!
//! The server remembers it by the id of the chat. The history is a second witness: it also counts if the client names no
//! chat, or continues one under another id.

use std::sync::Arc;

use toolyard_core::{
    CatalogView, Door,
    data_flow::{ConversationKey, LabelSet, ReadItem},
};
use toolyard_protocol::{
    ToolRef,
    approval::DataFlowPolicy,
    chat::{CallState, ChatCall, ChatMessage, ChatPart, ChatRole},
};

use super::interface_tools;
use crate::{auth::CallerContext, calls, error::RequestError, state::ServerState};

/// Notes what the calls in the history have brought into the conversation.
pub(super) async fn record_history(
    state: &ServerState,
    who: &CallerContext,
    view: &CatalogView,
    conversation: Option<&Arc<str>>,
    messages: &[ChatMessage],
) -> Result<(), RequestError> {
    let tracker = state.approvals.data_flow();
    if tracker.policy() == DataFlowPolicy::Off {
        return Ok(());
    }
    let read_item = |call: &ChatCall| {
        let name: Option<ToolRef> = call.name.parse().ok();
        let (name, labels) = match name.and_then(|name| view.find_tool(&name).ok()) {
            Some(tool) => (tool.name.as_str(), tracker.tool_labels(tool).labels),
            None if interface_tools::is_interface_tool(&call.name) => (call.name.as_str(), LabelSet::EMPTY),
            // The client's own tool, or one that is gone.
            None => (call.name.as_str(), LabelSet::UNKNOWN_READ),
        };
        ReadItem { name: name.to_owned(), labels }
    };
    let calls = messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        ChatPart::Call(call) if has_result(call) => Some(call),
        _ => None,
    });
    let items: Vec<ReadItem> = calls.map(read_item).collect();
    let session = calls::session_id(Door::Chat, who);
    match ConversationKey::new(&who.user, conversation, session.as_ref()) {
        Some(key) => Ok(tracker.record_items(&key, &items).await?),
        None => Ok(()),
    }
}

/// A denied call has brought nothing. Results can also be separate messages, and that of an approved call comes in this turn, so
/// an open call counts as well.
fn has_result(call: &ChatCall) -> bool {
    !matches!(call.state, CallState::Denied(_))
}

/// What the user wrote, in lower case.
pub(super) fn user_text(messages: &[ChatMessage]) -> Arc<str> {
    let parts = messages.iter().filter(|message| message.role == ChatRole::User).flat_map(|m| &m.parts);
    let texts = parts.filter_map(|part| match part {
        ChatPart::Text(text) => Some(text.to_lowercase()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n").into()
}
