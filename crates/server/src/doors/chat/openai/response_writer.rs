//! Writes a turn as an OpenAI response: the text of a step is a message, a call that the caller must run is a function call.
//! The complete response is the sum of its events, so streamed and whole responses share this code.

use toolyard_agent::{
    event::{TurnEndReason, TurnEvent, TurnLimitKind},
    message::ModelToolCall,
    model::{ModelError, ModelErrorKind, ModelUsage},
    tools::ToolLocation,
};
use toolyard_protocol::chat::responses::{
    IncompleteDetails, OutputItem, OutputText, RequestEcho, ResponseBody, ResponseError, ResponseEvent,
    ResponseStatus, ResponseUsage, SequencedEvent,
};

use super::stream::TurnWriter;

/// A response in progress.
#[derive(Debug)]
pub(super) struct ResponseWriter {
    response: ResponseBody,
    /// The message in progress.
    open: Option<OpenMessage>,
    usage: ModelUsage,
    /// Sequence number of the next event.
    sequence: u64,
}

/// A message in progress.
#[derive(Debug)]
struct OpenMessage {
    id: String,
    text: String,
}

/// Receives the events of a response.
type EventSink<'a> = dyn FnMut(ResponseEvent<'_>) + 'a;

impl ResponseWriter {
    pub(super) fn new(id: String, created_at: i64, model: String, echo: RequestEcho) -> Self {
        let response = ResponseBody {
            id,
            object: "response",
            created_at,
            status: ResponseStatus::InProgress,
            background: false,
            error: None,
            incomplete_details: None,
            model,
            output: Vec::new(),
            previous_response_id: None,
            store: false,
            truncation: "disabled",
            usage: None,
            echo,
        };
        Self { response, open: None, usage: ModelUsage::default(), sequence: 0 }
    }

    /// The response so far.
    pub(super) const fn response(&self) -> &ResponseBody {
        &self.response
    }

    /// Adds an event of the turn to the response.
    pub(super) fn apply_event(&mut self, event: TurnEvent, sink: &mut EventSink<'_>) {
        match event {
            TurnEvent::Text(delta) => self.add_text(&delta, sink),
            TurnEvent::Called { call, tool: Some(tool) } if tool.place == ToolLocation::Client => {
                self.close_message(ResponseStatus::Completed, sink);
                self.add_call(call, sink);
            }
            TurnEvent::StepEnds { usage, continues: goes_on } => {
                self.usage += usage.unwrap_or_default();
                // The next step is a new message. The last message is closed when the turn ends.
                if goes_on {
                    self.close_message(ResponseStatus::Completed, sink);
                }
            }
            TurnEvent::Ends(finish) => self.finish_response(&finish, sink),
            // Calls that run on the server are not reported.
            _ => {}
        }
    }

    fn item_id(&self, kind: &str) -> String {
        let own = self.response.id.trim_start_matches("resp_");
        format!("{kind}_{own}_{}", self.response.output.len())
    }

    fn add_text(&mut self, delta: &str, sink: &mut EventSink<'_>) {
        let output_index = self.response.output.len();
        if self.open.is_none() {
            let id = self.item_id("msg");
            let item = message_item(id.clone(), ResponseStatus::InProgress, Vec::new());
            sink(ResponseEvent::ItemAdded { output_index, item: &item });
            sink(ResponseEvent::PartAdded {
                item_id: &id,
                output_index,
                content_index: 0,
                part: OutputText::new(""),
            });
            self.open = Some(OpenMessage { id, text: String::new() });
        }
        if let Some(open) = &mut self.open {
            open.text.push_str(delta);
            sink(ResponseEvent::TextDelta {
                item_id: &open.id,
                output_index,
                content_index: 0,
                delta,
                logprobs: [],
            });
        }
    }

    fn close_message(&mut self, status: ResponseStatus, sink: &mut EventSink<'_>) {
        let Some(OpenMessage { id, text }) = self.open.take() else { return };
        let output_index = self.response.output.len();
        let part = OutputText::new(text);
        sink(ResponseEvent::TextDone {
            item_id: &id,
            output_index,
            content_index: 0,
            text: &part.text,
            logprobs: [],
        });
        sink(ResponseEvent::PartDone { item_id: &id, output_index, content_index: 0, part: part.clone() });
        let item = message_item(id, status, vec![part]);
        sink(ResponseEvent::ItemDone { output_index, item: &item });
        self.response.output.push(item);
    }

    /// A call is sent complete, because only then is it certain that the caller must run it.
    fn add_call(&mut self, call: ModelToolCall, sink: &mut EventSink<'_>) {
        let (output_index, id) = (self.response.output.len(), self.item_id("fc"));
        let arguments = call.arguments.get().to_owned();
        let item = |status: ResponseStatus, arguments: &str| OutputItem::FunctionCall {
            id: id.clone(),
            status,
            call_id: call.id.clone(),
            name: call.name.clone(),
            arguments: arguments.to_owned(),
        };
        sink(ResponseEvent::ItemAdded { output_index, item: &item(ResponseStatus::InProgress, "") });
        sink(ResponseEvent::ArgumentsDelta { item_id: &id, output_index, delta: &arguments });
        sink(ResponseEvent::ArgumentsDone {
            item_id: &id,
            output_index,
            name: &call.name,
            arguments: &arguments,
        });
        let done = item(ResponseStatus::Completed, &arguments);
        sink(ResponseEvent::ItemDone { output_index, item: &done });
        self.response.output.push(done);
    }

    fn finish_response(&mut self, finish: &TurnEndReason, sink: &mut EventSink<'_>) {
        let incomplete = |reason: &'static str| Some(IncompleteDetails { reason });
        let response = &mut self.response;
        response.incomplete_details = match finish {
            TurnEndReason::Stop
            | TurnEndReason::ClientCalls
            | TurnEndReason::AwaitingApproval
            | TurnEndReason::Cancelled
            | TurnEndReason::Failed(_) => None,
            TurnEndReason::Length | TurnEndReason::Budget(TurnLimitKind::Tokens) => {
                incomplete("max_output_tokens")
            }
            TurnEndReason::Filtered => incomplete("content_filter"),
            TurnEndReason::Budget(TurnLimitKind::Steps) => incomplete("steps"),
            TurnEndReason::Budget(TurnLimitKind::Time) => incomplete("time"),
        };
        response.error = match finish {
            TurnEndReason::Failed(error) => Some(response_error(error)),
            TurnEndReason::Cancelled => Some(ResponseError {
                code: "server_error",
                message: "The response was cancelled.".to_owned(),
            }),
            _ => None,
        };
        let status = match (&response.error, &response.incomplete_details) {
            (Some(_), _) => ResponseStatus::Failed,
            (None, Some(_)) => ResponseStatus::Incomplete,
            (None, None) => ResponseStatus::Completed,
        };
        response.status = status;
        response.usage = Some(ResponseUsage::new(self.usage.input, self.usage.output));
        let of_message =
            if status == ResponseStatus::Completed { status } else { ResponseStatus::Incomplete };
        self.close_message(of_message, sink);
        let response = &self.response;
        sink(match status {
            ResponseStatus::Failed => ResponseEvent::Failed { response },
            ResponseStatus::Incomplete => ResponseEvent::Incomplete { response },
            ResponseStatus::Completed | ResponseStatus::InProgress => ResponseEvent::Completed { response },
        });
    }
}

fn message_item(id: String, status: ResponseStatus, content: Vec<OutputText>) -> OutputItem {
    OutputItem::Message { id, status, role: "assistant", content }
}

fn response_error(error: &ModelError) -> ResponseError {
    let code = match error.kind {
        ModelErrorKind::RateLimited => "rate_limit_exceeded",
        _ => "server_error",
    };
    ResponseError { code, message: error.text.clone() }
}

/// A sink that numbers events and appends them to a buffer.
fn numbered_sink<'a>(sequence: &'a mut u64, written: &'a mut String) -> impl FnMut(ResponseEvent<'_>) + 'a {
    move |event| {
        written.push_str(&SequencedEvent::new(event, *sequence).to_event());
        *sequence += 1;
    }
}

impl TurnWriter for ResponseWriter {
    fn model(&self) -> &str {
        &self.response.model
    }

    fn preamble(&mut self) -> Vec<u8> {
        let mut written = String::new();
        let mut sink = numbered_sink(&mut self.sequence, &mut written);
        sink(ResponseEvent::Created { response: &self.response });
        sink(ResponseEvent::InProgress { response: &self.response });
        drop(sink);
        written.into_bytes()
    }

    fn write_event(&mut self, event: TurnEvent) -> Vec<u8> {
        let (mut written, mut sequence) = (String::new(), self.sequence);
        self.apply_event(event, &mut numbered_sink(&mut sequence, &mut written));
        self.sequence = sequence;
        written.into_bytes()
    }
}
