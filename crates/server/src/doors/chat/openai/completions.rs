//! `/v1/chat/completions`.

use axum::{
    extract::{Request, State},
    response::Response,
};
use http::StatusCode;
use toolyard_agent::{
    event::{Finish, TurnEvent},
    message::Call,
    model::Usage,
    tools::Place,
};
use toolyard_protocol::{
    JsonLine,
    chat::{
        ToolDialect,
        openai::{
            CalledFunction, CalledTool, ChunkChoice, Completion, CompletionChoice, CompletionChunk,
            CompletionMessage, CompletionRequest, CompletionUsage, DONE, Delta, finish_word,
        },
    },
};

use super::{
    KnownRequest,
    error::{Api, error_body, model_failed, not_begun},
    stream::{TurnWriter, streamed},
    tool_choice,
};
use crate::{
    doors::chat::{
        begin::{self, Asked, Begun},
        new_id,
        respond::broken,
        status_of,
        ui::reason,
        with_model,
    },
    error::json,
    state::AppState,
};

pub(super) async fn completions(State(state): State<AppState>, request: Request) -> Response {
    let KnownRequest { who, request, trace } =
        match KnownRequest::read(&state, request, CompletionRequest::read).await {
            Ok(known) => known,
            Err(refusal) => return *refusal,
        };
    let (stream, include_usage) = (request.stream, request.include_usage);
    let asked = Asked {
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
        ..Asked::default()
    };
    match begin::begin(&state, who, asked).await {
        Ok(begun) => {
            let (id, created) = (new_id(&state, "chatcmpl"), state.clock.now().as_second());
            let told = Told {
                id,
                created,
                model: begun.model.clone(),
                calls: 0,
                usage: Usage::default(),
                include_usage,
                text: OneText::default(),
            };
            if stream { streamed(begun, told).await } else { whole(begun, told).await }
        }
        Err(why) => not_begun(Api::Completions, why),
    }
}

/// What all events of an answer share.
struct Told {
    id: String,
    created: i64,
    model: String,
    calls: usize,
    usage: Usage,
    include_usage: bool,
    text: OneText,
}

/// These clients know no steps: what is said in several of them is one text, with an empty line between them.
#[derive(Default)]
struct OneText {
    said: bool,
    gap: bool,
}

impl OneText {
    fn add(&mut self, text: String) -> String {
        self.said = true;
        if std::mem::take(&mut self.gap) { format!("\n\n{text}") } else { text }
    }

    const fn step_ends(&mut self) {
        self.gap = self.said;
    }
}

impl TurnWriter for Told {
    fn model(&self) -> &str {
        &self.model
    }

    fn hello(&mut self) -> Vec<u8> {
        self.chunk(Delta { role: Some("assistant"), content: Some(String::new()), ..Delta::default() }, None)
    }

    fn write(&mut self, event: TurnEvent) -> Vec<u8> {
        match event {
            TurnEvent::Text(text) => {
                let content = Some(self.text.add(text));
                self.chunk(Delta { content, ..Delta::default() }, None)
            }
            TurnEvent::Called { call, tool: Some(tool) } if tool.place == Place::Client => {
                let called = called(call, Some(self.calls));
                self.calls += 1;
                self.chunk(Delta { tool_calls: vec![called], ..Delta::default() }, None)
            }
            TurnEvent::StepEnds { usage, .. } => {
                self.usage += usage.unwrap_or_default();
                self.text.step_ends();
                Vec::new()
            }
            TurnEvent::Ends(Finish::Failed(error)) => {
                let body = error_body(&error.text, status_of(&error), None);
                (JsonLine::new(&body).to_event() + DONE).into_bytes()
            }
            TurnEvent::Ends(finish) => {
                let mut last = self.chunk(Delta::default(), Some(finish_word(reason(&finish))));
                if self.include_usage {
                    last.extend(self.event(Vec::new(), Some(tokens(self.usage))));
                }
                last.extend_from_slice(DONE.as_bytes());
                last
            }
            // What runs inside is not told.
            _ => Vec::new(),
        }
    }
}

impl Told {
    fn chunk(&self, delta: Delta, finish_reason: Option<&'static str>) -> Vec<u8> {
        self.event(vec![ChunkChoice { index: 0, delta, finish_reason }], None)
    }

    fn event(&self, choices: Vec<ChunkChoice>, usage: Option<CompletionUsage>) -> Vec<u8> {
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

fn called(call: Call, index: Option<usize>) -> CalledTool {
    let function = CalledFunction { name: call.name, arguments: call.arguments.get().to_owned() };
    CalledTool { index, id: call.id, r#type: "function", function }
}

const fn tokens(usage: Usage) -> CompletionUsage {
    CompletionUsage::new(usage.input, usage.output)
}

async fn whole(mut begun: Begun, mut told: Told) -> Response {
    let (mut text, mut tool_calls, mut usage) = (String::new(), Vec::new(), Usage::default());
    let finish = loop {
        match begun.events.recv().await.unwrap_or_else(broken) {
            TurnEvent::Text(more) => text.push_str(&told.text.add(more)),
            TurnEvent::Called { call, tool: Some(tool) } if tool.place == Place::Client => {
                tool_calls.push(called(call, None));
            }
            TurnEvent::StepEnds { usage: more, .. } => {
                usage += more.unwrap_or_default();
                told.text.step_ends();
            }
            TurnEvent::Ends(Finish::Failed(error)) => return model_failed(&error),
            TurnEvent::Ends(finish) => break finish,
            _ => {}
        }
    };
    let content = (!text.is_empty() || tool_calls.is_empty()).then_some(text);
    let message = CompletionMessage { role: "assistant", content, tool_calls };
    let choices = vec![CompletionChoice { index: 0, message, finish_reason: finish_word(reason(&finish)) }];
    let completion = Completion {
        id: &told.id,
        object: "chat.completion",
        created: told.created,
        model: &told.model,
        choices,
        usage: tokens(usage),
    };
    with_model(json(StatusCode::OK, &completion), &told.model)
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;
    use tokio::time::Instant;
    use toolyard_agent::model::{ModelError, ModelTrouble};

    use super::*;
    use crate::doors::chat::respond::HEARTBEAT;

    fn told() -> Told {
        Told {
            id: "chatcmpl_1".to_owned(),
            created: 0,
            model: "m".to_owned(),
            calls: 0,
            usage: Usage::default(),
            include_usage: false,
            text: OneText::default(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_model_that_is_silent_for_long_is_alive_before_its_first_word() {
        let (turn, begun) = Begun::scripted();
        let before = Instant::now();
        // Nothing of this is a word.
        turn.send(TurnEvent::StepBegins).await.unwrap();
        turn.send(TurnEvent::Reasoning("hm".to_owned())).await.unwrap();
        let response = streamed(begun, told()).await;
        assert_eq!((response.status(), before.elapsed()), (StatusCode::OK, HEARTBEAT));
        let mut body = response.into_body().into_data_stream();
        let first = body.next().await.unwrap().unwrap();
        assert!(first.starts_with(b"data: {") && first.ends_with(b"\n\n"), "{first:?}");
        for beats in 2..4 {
            assert_eq!(body.next().await.unwrap().unwrap(), ": keep-alive\n\n");
            assert_eq!(before.elapsed(), HEARTBEAT * beats);
        }
        // It is too late for a status.
        let error = ModelError {
            kind: ModelTrouble::Unavailable,
            text: "no luck".to_owned(),
            cause: None,
            retry_after: None,
        };
        turn.send(TurnEvent::Ends(Finish::Failed(error))).await.unwrap();
        let last = String::from_utf8(body.next().await.unwrap().unwrap().to_vec()).unwrap();
        assert!(last.contains("no luck") && last.ends_with(DONE), "{last}");
        assert!(body.next().await.is_none());
    }
}
