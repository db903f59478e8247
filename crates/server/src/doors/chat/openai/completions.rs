//! `/v1/chat/completions`.

use axum::{
    extract::{Request, State},
    response::Response,
};
use http::StatusCode;
use toolyard_agent::{
    event::{TurnEndReason, TurnEvent},
    message::ModelToolCall,
    model::ModelUsage,
    tools::ToolLocation,
};
use toolyard_protocol::{
    JsonLine,
    chat::{
        ToolDialect,
        openai::{
            ChatCompletion, ChunkChoice, ChunkDelta, CompletionChoice, CompletionChunk, CompletionFunction,
            CompletionMessage, CompletionRequest, CompletionToolCall, CompletionUsage, DONE,
            openai_finish_reason,
        },
    },
};

use super::{
    AuthenticatedRequest,
    error::{OpenAiApi, error_body, model_error_response, start_error_response},
    stream::{TurnWriter, stream_turn},
    tool_choice,
};
use crate::{
    doors::chat::{
        begin::{self, ActiveTurn, TurnRequest},
        model_error_status, new_id,
        respond::vanished_turn_event,
        ui::finish_reason,
        with_model_header,
    },
    error::json_response,
    state::ServerState,
};

pub(super) async fn post_completions(State(state): State<ServerState>, request: Request) -> Response {
    let AuthenticatedRequest { who, request, trace } =
        match AuthenticatedRequest::read_authenticated(&state, request, CompletionRequest::parse).await {
            Ok(known) => known,
            Err(refusal) => return *refusal,
        };
    let (stream, include_usage) = (request.stream, request.include_usage);
    let turn_request = TurnRequest {
        messages: request.messages,
        client_tools: request.tools,
        model: request.model,
        choice: tool_choice(request.selection.choice),
        tool_filter: request.selection.only,
        dialect: ToolDialect::OpenAi,
        max_tokens: request.max_tokens,
        temperature: request.temperature,
        sampling: request.sampling,
        trace,
        ..TurnRequest::default()
    };
    match begin::start_turn(&state, who, turn_request).await {
        Ok(turn) => {
            let (id, created) = (new_id(&state, "chatcmpl"), state.clock.now().as_second());
            let writer = CompletionWriter {
                id,
                created,
                model: turn.model.clone(),
                calls: 0,
                usage: ModelUsage::default(),
                include_usage,
                text: JoinedText::default(),
            };
            if stream { stream_turn(turn, writer).await } else { whole_completion(turn, writer).await }
        }
        Err(why) => start_error_response(OpenAiApi::Completions, why),
    }
}

/// State shared by all chunks of a completion.
struct CompletionWriter {
    id: String,
    created: i64,
    model: String,
    calls: usize,
    usage: ModelUsage,
    include_usage: bool,
    text: JoinedText,
}

/// Joins the texts of all steps with blank lines, because this API has no steps.
#[derive(Default)]
struct JoinedText {
    has_text: bool,
    gap: bool,
}

impl JoinedText {
    fn add(&mut self, text: String) -> String {
        self.has_text = true;
        if std::mem::take(&mut self.gap) { format!("\n\n{text}") } else { text }
    }

    const fn step_ends(&mut self) {
        self.gap = self.has_text;
    }
}

impl TurnWriter for CompletionWriter {
    fn model(&self) -> &str {
        &self.model
    }

    fn preamble(&mut self) -> Vec<u8> {
        self.delta_event(
            ChunkDelta { role: Some("assistant"), content: Some(String::new()), ..ChunkDelta::default() },
            None,
        )
    }

    fn write_event(&mut self, event: TurnEvent) -> Vec<u8> {
        match event {
            TurnEvent::Text(text) => {
                let content = Some(self.text.add(text));
                self.delta_event(ChunkDelta { content, ..ChunkDelta::default() }, None)
            }
            TurnEvent::Called { call, tool: Some(tool) } if tool.place == ToolLocation::Client => {
                let called = called_tool(call, Some(self.calls));
                self.calls += 1;
                self.delta_event(ChunkDelta { tool_calls: vec![called], ..ChunkDelta::default() }, None)
            }
            TurnEvent::StepEnds { usage, .. } => {
                self.usage += usage.unwrap_or_default();
                self.text.step_ends();
                Vec::new()
            }
            TurnEvent::Ends(TurnEndReason::Failed(error)) => {
                let body = error_body(&error.text, model_error_status(&error), None);
                (JsonLine::new(&body).to_event() + DONE).into_bytes()
            }
            TurnEvent::Ends(finish) => {
                let mut last = self
                    .delta_event(ChunkDelta::default(), Some(openai_finish_reason(&finish_reason(&finish))));
                if self.include_usage {
                    last.extend(self.chunk_event(Vec::new(), Some(completion_usage(self.usage))));
                }
                last.extend_from_slice(DONE.as_bytes());
                last
            }
            // Calls that run on the server are not reported.
            _ => Vec::new(),
        }
    }
}

impl CompletionWriter {
    fn delta_event(&self, delta: ChunkDelta, finish_reason: Option<&'static str>) -> Vec<u8> {
        self.chunk_event(vec![ChunkChoice { index: 0, delta, finish_reason }], None)
    }

    fn chunk_event(&self, choices: Vec<ChunkChoice>, usage: Option<CompletionUsage>) -> Vec<u8> {
        let object = "chat.completion.chunk";
        let chunk = CompletionChunk {
            id: &self.id,
            object,
            created: self.created,
            model: &self.model,
            choices,
            usage,
        };
        JsonLine::new(&chunk).to_event().into_bytes()
    }
}

fn called_tool(call: ModelToolCall, index: Option<usize>) -> CompletionToolCall {
    let function = CompletionFunction { name: call.name, arguments: call.arguments.get().to_owned() };
    CompletionToolCall { index, id: call.id, r#type: "function", function }
}

const fn completion_usage(usage: ModelUsage) -> CompletionUsage {
    CompletionUsage::new(usage.input, usage.output)
}

async fn whole_completion(mut turn: ActiveTurn, mut writer: CompletionWriter) -> Response {
    let (mut text, mut tool_calls, mut usage) = (String::new(), Vec::new(), ModelUsage::default());
    let finish = loop {
        match turn.events.recv().await.unwrap_or_else(vanished_turn_event) {
            TurnEvent::Text(more) => text.push_str(&writer.text.add(more)),
            TurnEvent::Called { call, tool: Some(tool) } if tool.place == ToolLocation::Client => {
                tool_calls.push(called_tool(call, None));
            }
            TurnEvent::StepEnds { usage: more, .. } => {
                usage += more.unwrap_or_default();
                writer.text.step_ends();
            }
            TurnEvent::Ends(TurnEndReason::Failed(error)) => return model_error_response(&error),
            TurnEvent::Ends(finish) => break finish,
            _ => {}
        }
    };
    let content = (!text.is_empty() || tool_calls.is_empty()).then_some(text);
    let message = CompletionMessage { role: "assistant", content, tool_calls };
    let choices = vec![CompletionChoice {
        index: 0,
        message,
        finish_reason: openai_finish_reason(&finish_reason(&finish)),
    }];
    let completion = ChatCompletion {
        id: &writer.id,
        object: "chat.completion",
        created: writer.created,
        model: &writer.model,
        choices,
        usage: completion_usage(usage),
    };
    with_model_header(json_response(StatusCode::OK, &completion), &writer.model)
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;
    use tokio::time::Instant;
    use toolyard_agent::model::{ModelError, ModelErrorKind};

    use super::*;
    use crate::doors::chat::respond::HEARTBEAT;

    fn writer() -> CompletionWriter {
        CompletionWriter {
            id: "chatcmpl_1".to_owned(),
            created: 0,
            model: "m".to_owned(),
            calls: 0,
            usage: ModelUsage::default(),
            include_usage: false,
            text: JoinedText::default(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_model_gets_heartbeats_before_its_first_output() {
        let (events, turn) = ActiveTurn::new_scripted();
        let before = Instant::now();
        // None of these events produces output.
        events.send(TurnEvent::StepBegins).await.unwrap();
        events.send(TurnEvent::Reasoning("hm".to_owned())).await.unwrap();
        let response = stream_turn(turn, writer()).await;
        assert_eq!((response.status(), before.elapsed()), (StatusCode::OK, HEARTBEAT));
        let mut body = response.into_body().into_data_stream();
        let first = body.next().await.unwrap().unwrap();
        assert!(first.starts_with(b"data: {") && first.ends_with(b"\n\n"), "{first:?}");
        for beats in 2..4 {
            assert_eq!(body.next().await.unwrap().unwrap(), ": keep-alive\n\n");
            assert_eq!(before.elapsed(), HEARTBEAT * beats);
        }
        // It is too late for an HTTP error status.
        let error = ModelError {
            kind: ModelErrorKind::Unavailable,
            text: "no luck".to_owned(),
            cause: None,
            retry_after: None,
        };
        events.send(TurnEvent::Ends(TurnEndReason::Failed(error))).await.unwrap();
        let last = String::from_utf8(body.next().await.unwrap().unwrap().to_vec()).unwrap();
        assert!(last.contains("no luck") && last.ends_with(DONE), "{last}");
        assert!(body.next().await.is_none());
    }
}
