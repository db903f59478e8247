//! Writes a turn as the UI message stream of AI SDK 5 and later.

use std::{borrow::Cow, sync::Arc};

use serde::Deserialize;
use serde_json::value::RawValue;
use toolyard_agent::{
    event::{CallEnd, TurnEndReason, TurnEvent},
    tools::{ToolLocation, TurnTool},
};
use toolyard_core::executor::AwaitedApproval;
use toolyard_protocol::{
    chat::{
        FinishReason,
        ui::{self, ApprovalData, DONE, NoticeData, ProgressData, SignInData, ToolData, UiChunk},
    },
    result::ToolResult,
    session::iso_millis,
};

use super::limit_text;

/// Writes chunks. Clients enforce their order: a block must be closed before its step ends.
#[derive(Debug, Default)]
pub(super) struct UiWriter {
    open: Option<OpenBlock>,
    /// Number of blocks so far.
    texts: usize,
    /// Calls that the client runs. Their end is not reported.
    client_call_ids: Vec<String>,
}

/// The open block and its id.
#[derive(Debug)]
struct OpenBlock {
    kind: BlockKind,
    id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Text,
    Reasoning,
}

impl UiWriter {
    /// The first chunk. A continued message keeps its id; a new one would show it twice.
    pub(super) fn start_chunk(message_id: Option<&str>) -> String {
        UiChunk::Start { message_id: message_id.map(str::to_owned), message_metadata: None }.to_event()
    }

    /// The chunks for an event.
    pub(super) fn write_event(&mut self, event: TurnEvent) -> String {
        let mut out = String::new();
        let mut say = |chunk: UiChunk| out.push_str(&chunk.to_event());
        match event {
            TurnEvent::StepBegins => say(UiChunk::StartStep),
            TurnEvent::Text(delta) => {
                let id = self.open_block(BlockKind::Text, &mut say);
                say(UiChunk::TextDelta { id, delta });
            }
            TurnEvent::Reasoning(delta) => {
                let id = self.open_block(BlockKind::Reasoning, &mut say);
                say(UiChunk::ReasoningDelta { id, delta });
            }
            TurnEvent::CallBegins { id, name, tool } => {
                self.close_block(&mut say);
                let provider_executed = server_executed(tool.as_ref());
                say(UiChunk::ToolInputStart { tool_call_id: id, tool_name: name, provider_executed });
            }
            TurnEvent::CallText { id, text } => {
                say(UiChunk::ToolInputDelta { tool_call_id: id, input_text_delta: text });
            }
            TurnEvent::Called { call, tool } => {
                self.close_block(&mut say);
                let provider_executed = server_executed(tool.as_ref());
                if provider_executed.is_none() {
                    self.client_call_ids.push(call.id.clone());
                }
                say(UiChunk::ToolInputAvailable {
                    tool_call_id: call.id.clone(),
                    tool_name: call.name,
                    input: call.arguments,
                    provider_executed,
                });
                if let Some(tool) = tool.filter(|tool| tool.place == ToolLocation::Here) {
                    say(UiChunk::DataTool { id: call.id.clone(), data: tool_data(&call.id, &tool) });
                }
            }
            TurnEvent::Progress { id, progress } => {
                let data = ProgressData {
                    tool_call_id: id,
                    progress: progress.progress,
                    total: progress.total,
                    message: progress.message,
                };
                say(UiChunk::DataProgress { transient: true, data });
            }
            TurnEvent::AwaitsSignIn { id, sign_in } => {
                let data = SignInData {
                    tool_call_id: id.clone(),
                    package_name: sign_in.package.clone(),
                    name: sign_in.name.clone(),
                    url: sign_in.url.clone(),
                };
                say(UiChunk::DataSignIn { id, transient: true, data });
            }
            TurnEvent::AwaitsApproval { id, approval } => {
                say(UiChunk::DataApproval {
                    id: approval.id.to_string(),
                    data: approval_data(id.clone(), &approval),
                });
                say(approval_request(id, &approval));
            }
            // The end of a client's call is reported by the client.
            TurnEvent::CallEnds { id, .. } if self.client_call_ids.contains(&id) => {}
            TurnEvent::CallEnds { id, end } => say(call_end_chunk(id, &end)),
            TurnEvent::StepEnds { .. } => {
                self.close_block(&mut say);
                say(UiChunk::FinishStep);
            }
            TurnEvent::Ends(finish) => write_finish(&finish, &mut say),
        }
        out
    }

    /// The end of a stream.
    pub(super) const fn done_marker() -> &'static str {
        DONE
    }

    /// The id of the open block of this kind. Opens one if needed.
    fn open_block(&mut self, kind: BlockKind, say: &mut impl FnMut(UiChunk)) -> String {
        if let Some(open) = self.open.as_ref().filter(|open| open.kind == kind) {
            return open.id.clone();
        }
        self.close_block(say);
        self.texts += 1;
        let id = format!("t{}", self.texts);
        say(match kind {
            BlockKind::Text => UiChunk::TextStart { id: id.clone() },
            BlockKind::Reasoning => UiChunk::ReasoningStart { id: id.clone() },
        });
        self.open = Some(OpenBlock { kind, id: id.clone() });
        id
    }

    fn close_block(&mut self, say: &mut impl FnMut(UiChunk)) {
        match self.open.take() {
            Some(OpenBlock { kind: BlockKind::Text, id }) => say(UiChunk::TextEnd { id }),
            Some(OpenBlock { kind: BlockKind::Reasoning, id }) => say(UiChunk::ReasoningEnd { id }),
            None => {}
        }
    }
}

/// Whether the server runs a call. Calls of unknown tools count as the server's, because the client has nothing to run.
fn server_executed(tool: Option<&Arc<TurnTool>>) -> Option<bool> {
    match tool.map(|tool| tool.place) {
        Some(ToolLocation::Client) => None,
        Some(ToolLocation::Here) | None => Some(true),
    }
}

fn tool_data(call: &str, tool: &TurnTool) -> ToolData {
    let about = tool.about.clone();
    ToolData {
        tool_call_id: call.to_owned(),
        name: about.name,
        title: about.title,
        app: about.app,
        icon: about.icon,
    }
}

fn approval_data(tool_call_id: String, approval: &AwaitedApproval) -> ApprovalData {
    ApprovalData {
        tool_call_id,
        name: approval.tool.to_string(),
        summary: (*approval.summary).clone(),
        risk: approval.risk,
        url: approval.url.clone(),
        expires_at: iso_millis(approval.expires_at),
    }
}

/// Only what the first release of AI SDK 6 knows. It needs no signature, because the answer is checked against the store.
fn approval_request(tool_call_id: String, approval: &AwaitedApproval) -> UiChunk {
    UiChunk::ToolApprovalRequest {
        approval_id: approval.id.to_string(),
        tool_call_id,
        reason: None,
        is_automatic: None,
        signature: None,
        approval_descriptor: None,
        input_schema_input: None,
    }
}

fn call_end_chunk(tool_call_id: String, end: &CallEnd) -> UiChunk {
    let provider_executed = Some(true);
    match end {
        CallEnd::Done(result) if !result.mcp.is_error() => {
            let output = result_output(result);
            UiChunk::ToolOutputAvailable { tool_call_id, output, provider_executed, preliminary: None }
        }
        CallEnd::Done(result) => {
            UiChunk::ToolOutputError { tool_call_id, error_text: result.mcp.all_text(), provider_executed }
        }
        CallEnd::Failed(error) => {
            UiChunk::ToolOutputError { tool_call_id, error_text: error.for_model.clone(), provider_executed }
        }
        CallEnd::Denied(_) => UiChunk::ToolOutputDenied { tool_call_id },
    }
}

/// A result for the screen, and for the model when the client sends it back.
pub(super) fn result_output(result: &ToolResult) -> Box<RawValue> {
    let parts = result.mcp.parts();
    let text = result.mcp.all_text();
    let only_text = parts.content.iter().all(|block| is_text(block));
    ui::client_output(
        (only_text && !text.is_empty()).then_some(&text),
        parts.structured_content,
        &parts.content,
    )
}

fn is_text(block: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct ContentBlockType<'a> {
        #[serde(borrow)]
        r#type: Cow<'a, str>,
    }
    serde_json::from_str::<ContentBlockType<'_>>(block.get()).is_ok_and(|kind| kind.r#type == "text")
}

fn write_finish(finish: &TurnEndReason, say: &mut impl FnMut(UiChunk)) {
    if let TurnEndReason::Failed(error) = finish {
        return say(UiChunk::Error { error_text: error.text.clone() });
    }
    if let TurnEndReason::Budget(bound) = finish {
        let data = NoticeData {
            code: limit_text::limit_code(*bound).to_owned(),
            message: limit_text::limit_message(*bound).to_owned(),
        };
        say(UiChunk::DataNotice { data });
    }
    say(UiChunk::Finish { finish_reason: Some(finish_reason(finish)), message_metadata: None });
}

/// Why a response ended, in the terms of the AI SDK.
pub(super) const fn finish_reason(finish: &TurnEndReason) -> FinishReason {
    match finish {
        TurnEndReason::Stop => FinishReason::Stop,
        TurnEndReason::ClientCalls | TurnEndReason::AwaitingApproval => FinishReason::ToolCalls,
        TurnEndReason::Length => FinishReason::Length,
        TurnEndReason::Filtered => FinishReason::ContentFilter,
        TurnEndReason::Budget(_) | TurnEndReason::Cancelled => FinishReason::Other,
        TurnEndReason::Failed(_) => FinishReason::Error,
    }
}
