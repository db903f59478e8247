//! `/v1/chat/completions`: the same turn for OpenAI's clients. Tools of the server run inside; the caller's own come back.

use axum::{
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, Method, StatusCode, header};
use serde::Serialize;
use toolyard_agent::{
    event::{Finish, TurnEvent},
    message::Call,
    model::{ModelError, ToolChoice, Usage},
    tools::Place,
};
use toolyard_protocol::{
    chat::openai::{
        CalledFunction, CalledTool, Choice, ChunkChoice, Completion, CompletionChoice, CompletionChunk,
        CompletionMessage, CompletionRequest, CompletionUsage, DONE, Delta, OpenAiError, OpenAiErrorBody,
        finish_word,
    },
    chat::ui,
    raw::to_raw,
};

use super::{
    begin::{self, Asked, BadTool, Begun, NotBegun},
    new_id,
    respond::{self, EVENT_STREAM, HEARTBEAT, broken},
    short, status_of, trace,
    ui::reason,
    with_model, with_wait,
};
use crate::{
    auth::{self, ActingFor, USER_HEADER},
    body,
    config::AuthMode,
    error::{Failure, json},
    models,
    routes::{Access, Route},
    state::AppState,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::POST,
            "/v1/chat/completions",
            Access::Acting,
            "The same turn for OpenAI's clients, streamed or whole; `tools` are the caller's own",
            completions,
        ),
        Route::new(Method::GET, "/v1/models", Access::Acting, "The models that can be chosen", list)
            .gives::<ModelList>(),
    ]
}

/// The models, as OpenAI lists them.
#[derive(Serialize, schemars::JsonSchema)]
struct ModelList {
    /// `list`
    object: &'static str,
    /// Each of them.
    data: Vec<ModelEntry>,
}

/// One model.
#[derive(Serialize, schemars::JsonSchema)]
struct ModelEntry {
    /// Its name.
    id: String,
    /// `model`
    object: &'static str,
    /// Not known, so 0.
    created: i64,
    /// Where it is.
    owned_by: String,
}

async fn list(State(state): State<AppState>, headers: HeaderMap) -> Response {
    if let Err(failure) = who(&state, headers).await {
        return refused(failure);
    }
    let data = models::names(&state).await.into_iter().map(|id| {
        let owned_by = id.split('/').next().unwrap_or_default().to_owned();
        ModelEntry { id, object: "model", created: 0, owned_by }
    });
    json(StatusCode::OK, &ModelList { object: "list", data: data.collect() })
}

/// Whoever asks. These clients always send a key; in dev mode it means nothing where a header says who it is.
async fn who(state: &AppState, mut headers: HeaderMap) -> Result<ActingFor, Failure> {
    if state.auth_mode == AuthMode::Dev && headers.contains_key(USER_HEADER) {
        headers.remove(header::AUTHORIZATION);
    }
    auth::acting_over_mcp(state, &headers).await
}

async fn completions(State(state): State<AppState>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let trace = trace(&parts.headers);
    let who = match who(&state, parts.headers.clone()).await {
        Ok(who) => who,
        Err(failure) => return refused(failure),
    };
    let bytes = match body::read(&parts.headers, body, &state, state.config.chat.body_bytes).await {
        Ok(bytes) => bytes,
        Err(failure) => return refused(failure),
    };
    let request = match CompletionRequest::read(&bytes) {
        Ok(request) => request,
        Err(problems) => {
            let param = problems.first().map(|problem| problem.path.clone());
            let text: Vec<String> = problems.iter().map(ToString::to_string).collect();
            return failed(StatusCode::BAD_REQUEST, text.join("; "), param);
        }
    };
    let (stream, include_usage) = (request.stream, request.include_usage);
    let choice = match request.choice {
        Choice::Auto => ToolChoice::Auto,
        Choice::Required => ToolChoice::Required,
        Choice::None => ToolChoice::None,
    };
    let asked = Asked {
        messages: request.messages,
        client_tools: request.tools,
        model: request.model,
        choice,
        max_tokens: request.max_tokens,
        temperature: request.temperature,
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
        Err(NotBegun::Failure(failure)) => refused(failure),
        Err(NotBegun::Model(error)) => model_failed(&error),
        Err(NotBegun::Tool(tool)) => bad_tool(tool),
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
        format!("data: {}\n\n", to_raw(&chunk).get()).into_bytes()
    }

    /// What an event of the turn adds to the stream; the last one ends it.
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
                format!("data: {}\n\n{DONE}", to_raw(&body).get()).into_bytes()
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

fn called(call: Call, index: Option<usize>) -> CalledTool {
    let function = CalledFunction { name: call.name, arguments: call.arguments.get().to_owned() };
    CalledTool { index, id: call.id, r#type: "function", function }
}

const fn tokens(usage: Usage) -> CompletionUsage {
    CompletionUsage::new(usage.input, usage.output)
}

/// Waits for the first word: an error before it has a status, as these clients expect. But not for ever, because proxies cut
/// off who is silent: after a while the stream begins, and an error comes in it.
async fn streamed(mut begun: Begun, mut told: Told) -> Response {
    let mut first =
        told.chunk(Delta { role: Some("assistant"), content: Some(String::new()), ..Delta::default() }, None);
    let mut over = false;
    let silence = tokio::time::sleep(HEARTBEAT);
    tokio::pin!(silence);
    loop {
        let event = tokio::select! {
            event = begun.events.recv() => event.unwrap_or_else(broken),
            () = &mut silence => break,
        };
        if let TurnEvent::Ends(Finish::Failed(error)) = &event {
            return model_failed(error);
        }
        over = over || matches!(event, TurnEvent::Ends(_));
        let said = told.write(event);
        if !said.is_empty() {
            first.extend(said);
            break;
        }
    }
    let model = told.model.clone();
    let rest = stream::unfold((begun, told, over), |(mut begun, mut told, over)| async move {
        if over {
            return None;
        }
        tokio::select! {
            event = begun.events.recv() => {
                let event = event.unwrap_or_else(broken);
                let over = matches!(event, TurnEvent::Ends(_));
                Some((Bytes::from(told.write(event)), (begun, told, over)))
            }
            () = tokio::time::sleep(HEARTBEAT) => {
                Some((Bytes::from_static(ui::HEARTBEAT.as_bytes()), (begun, told, over)))
            }
        }
    });
    let pieces =
        stream::iter([Bytes::from(first)]).chain(rest.filter(|piece| std::future::ready(!piece.is_empty())));
    with_model(respond::streamed(EVENT_STREAM, pieces), &model)
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

fn error_body(text: &str, status: StatusCode, param: Option<String>) -> OpenAiError {
    let kind = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "authentication_error",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        status if status.is_client_error() => "invalid_request_error",
        _ => "server_error",
    };
    OpenAiError { error: OpenAiErrorBody { message: text.to_owned(), r#type: kind, param, code: None } }
}

fn failed(status: StatusCode, text: String, param: Option<String>) -> Response {
    json(status, &error_body(&text, status, param))
}

fn model_failed(error: &ModelError) -> Response {
    tracing::warn!(cause = error.cause, "{error}");
    with_wait(failed(status_of(error), error.text.clone(), None), error)
}

/// A tool of the caller that is not taken, named as it was sent.
fn bad_tool(tool: BadTool) -> Response {
    let name = tool.tool.as_ref().map(|(_, name)| format!(" ({})", short(name))).unwrap_or_default();
    let function = if tool.within.is_empty() { "" } else { ".function" };
    let problem = tool.problem("tools", |index, _| format!("tools[{index}]{function}"));
    let text = format!("{}{name}: {}", problem.path, problem.message);
    failed(StatusCode::BAD_REQUEST, text, Some(problem.path))
}

/// A refusal of ours in the form that these clients read.
fn refused(failure: Failure) -> Response {
    let (text, param) = match &failure {
        Failure::Api(error) => {
            (error.message.clone(), error.problems.first().map(|problem| problem.path.clone()))
        }
        Failure::Refused(refusal) => (refusal.to_string(), None),
    };
    let ours = failure.into_response();
    let mut response = failed(ours.status(), text, param);
    for name in [header::WWW_AUTHENTICATE, header::RETRY_AFTER] {
        if let Some(value) = ours.headers().get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;
    use toolyard_agent::model::ModelTrouble;

    use super::*;

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
