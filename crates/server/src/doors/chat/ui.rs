//! A turn as the UI message stream of AI SDK 5 and later.

use std::{borrow::Cow, sync::Arc};

use serde::Deserialize;
use serde_json::value::RawValue;
use toolyard_agent::{
    event::{CallEnd, Finish, TurnEvent},
    tools::{Offered, Place},
};
use toolyard_protocol::{
    chat::{
        FinishReason,
        ui::{self, DONE, NoticeData, ProgressData, ToolData, UiChunk},
    },
    result::ToolResult,
};

use super::words;

/// Writes chunks. Clients enforce their order: what is open is closed before a step ends.
#[derive(Debug, Default)]
pub(super) struct UiWriter {
    open: Option<Open>,
    /// Numbers the texts of an answer.
    texts: usize,
    /// Calls that the client runs: nothing is said of their end.
    of_client: Vec<String>,
}

/// What is open, and its id.
#[derive(Debug)]
struct Open {
    kind: Kind,
    id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
}

impl UiWriter {
    /// The first chunk. A message that goes on keeps its id; a fresh one would double it on the screen.
    pub(super) fn begin(message_id: Option<&str>) -> String {
        UiChunk::Start { message_id: message_id.map(str::to_owned) }.event()
    }

    /// What an event becomes.
    pub(super) fn write(&mut self, event: TurnEvent) -> String {
        let mut out = String::new();
        let mut say = |chunk: UiChunk| out.push_str(&chunk.event());
        match event {
            TurnEvent::StepBegins => say(UiChunk::StartStep),
            TurnEvent::Text(delta) => {
                let id = self.open(Kind::Text, &mut say);
                say(UiChunk::TextDelta { id, delta });
            }
            TurnEvent::Reasoning(delta) => {
                let id = self.open(Kind::Reasoning, &mut say);
                say(UiChunk::ReasoningDelta { id, delta });
            }
            TurnEvent::CallBegins { id, name, tool } => {
                self.close(&mut say);
                let provider_executed = here(tool.as_ref());
                say(UiChunk::ToolInputStart { tool_call_id: id, tool_name: name, provider_executed });
            }
            TurnEvent::CallText { id, text } => {
                say(UiChunk::ToolInputDelta { tool_call_id: id, input_text_delta: text });
            }
            TurnEvent::Called { call, tool } => {
                self.close(&mut say);
                let provider_executed = here(tool.as_ref());
                if provider_executed.is_none() {
                    self.of_client.push(call.id.clone());
                }
                say(UiChunk::ToolInputAvailable {
                    tool_call_id: call.id.clone(),
                    tool_name: call.name,
                    input: call.arguments,
                    provider_executed,
                });
                if let Some(tool) = tool.filter(|tool| tool.place == Place::Here) {
                    say(UiChunk::DataTool { id: call.id.clone(), data: about(&call.id, &tool) });
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
            // Of a client's call nothing is said: its client will.
            TurnEvent::CallEnds { id, .. } if self.of_client.contains(&id) => {}
            TurnEvent::CallEnds { id, end } => say(ended(id, &end)),
            TurnEvent::StepEnds { .. } => {
                self.close(&mut say);
                say(UiChunk::FinishStep);
            }
            TurnEvent::Ends(finish) => finished(&finish, &mut say),
        }
        out
    }

    /// What a stream ends with.
    pub(super) const fn end() -> &'static str {
        DONE
    }

    /// The id of what is open, opened where it is not.
    fn open(&mut self, kind: Kind, say: &mut impl FnMut(UiChunk)) -> String {
        if let Some(open) = self.open.as_ref().filter(|open| open.kind == kind) {
            return open.id.clone();
        }
        self.close(say);
        self.texts += 1;
        let id = format!("t{}", self.texts);
        say(match kind {
            Kind::Text => UiChunk::TextStart { id: id.clone() },
            Kind::Reasoning => UiChunk::ReasoningStart { id: id.clone() },
        });
        self.open = Some(Open { kind, id: id.clone() });
        id
    }

    fn close(&mut self, say: &mut impl FnMut(UiChunk)) {
        match self.open.take() {
            Some(Open { kind: Kind::Text, id }) => say(UiChunk::TextEnd { id }),
            Some(Open { kind: Kind::Reasoning, id }) => say(UiChunk::ReasoningEnd { id }),
            None => {}
        }
    }
}

/// Whether a call is the server's. One of a tool that is not there is, because the client has nothing to run either.
fn here(tool: Option<&Arc<Offered>>) -> Option<bool> {
    match tool.map(|tool| tool.place) {
        Some(Place::Client) => None,
        Some(Place::Here) | None => Some(true),
    }
}

fn about(call: &str, tool: &Offered) -> ToolData {
    let about = tool.about.clone();
    ToolData {
        tool_call_id: call.to_owned(),
        name: about.name,
        title: about.title,
        app: about.app,
        icon: about.icon,
    }
}

fn ended(tool_call_id: String, end: &CallEnd) -> UiChunk {
    let provider_executed = Some(true);
    match end {
        CallEnd::Done(result) if !result.mcp.is_error() => {
            UiChunk::ToolOutputAvailable { tool_call_id, output: output(result), provider_executed }
        }
        CallEnd::Done(result) => {
            UiChunk::ToolOutputError { tool_call_id, error_text: result.mcp.all_text(), provider_executed }
        }
        CallEnd::Failed(error) => {
            UiChunk::ToolOutputError { tool_call_id, error_text: error.for_model.clone(), provider_executed }
        }
    }
}

/// A result for the screen, and for the model when it comes back.
pub(super) fn output(result: &ToolResult) -> Box<RawValue> {
    let parts = result.mcp.parts();
    let text = result.mcp.all_text();
    let only_text = parts.content.iter().all(|block| is_text(block));
    ui::output_of((only_text && !text.is_empty()).then_some(&text), parts.structured_content, &parts.content)
}

fn is_text(block: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow)]
        r#type: Cow<'a, str>,
    }
    serde_json::from_str::<Kind<'_>>(block.get()).is_ok_and(|kind| kind.r#type == "text")
}

fn finished(finish: &Finish, say: &mut impl FnMut(UiChunk)) {
    if let Finish::Failed(error) = finish {
        return say(UiChunk::Error { error_text: error.text.clone() });
    }
    if let Finish::Budget(bound) = finish {
        let data =
            NoticeData { code: words::code(*bound).to_owned(), message: words::bound(*bound).to_owned() };
        say(UiChunk::DataNotice { data });
    }
    say(UiChunk::Finish { finish_reason: reason(finish) });
}

/// Why an answer ended, in the words of the AI SDK.
pub(super) const fn reason(finish: &Finish) -> FinishReason {
    match finish {
        Finish::Stop => FinishReason::Stop,
        Finish::ClientCalls => FinishReason::ToolCalls,
        Finish::Length => FinishReason::Length,
        Finish::Filtered => FinishReason::ContentFilter,
        Finish::Budget(_) | Finish::Cancelled => FinishReason::Other,
        Finish::Failed(_) => FinishReason::Error,
    }
}
