//! One request to an upstream: progress and log lines go to the caller, and so do questions, in the four combinations
//! of eras.
//!
//! | caller | upstream | how a question reaches the caller |
//! | --- | --- | --- |
//! | modern | modern | the reply that requires input is passed on, with the upstream's state inside ours |
//! | handshake | handshake | asked on the caller's stream, answered on the upstream's |
//! | handshake | modern | asked on the caller's stream, then the request is sent again with the answers |
//! | modern | handshake | the request is held open until the caller returns: see [`held`](super::held) |

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use toolyard_core::{
    CallContext, ToolError,
    catalog::AppHead,
    executor::AwaitedInput,
    ports::{CallNotice, SourceQuestion, UpstreamRecord},
};
use toolyard_mcp_client::{McpClient, McpClientError, RequestOptions, ServerRequest, UpstreamReply};
use toolyard_protocol::{
    CallId, ErrorCode, PackageName,
    call::CallProgress,
    mcp::{RpcError, meta},
    raw::{RawFields, to_raw},
};

use super::{
    UpstreamSource, authorize,
    call_watch::{CallPhase, CallWatch},
    errors::{self, RequestFault},
    held::HeldRequest,
    origin,
};

/// Queued notifications of one request.
const QUEUE: usize = 64;
/// How often an upstream may ask for input in one request.
const MAX_ROUNDS: usize = 16;
/// The key under which the caller receives the question of a held request.
const HELD_KEY: &str = "input";

/// A request to an upstream.
pub(super) struct UpstreamRequest<'a> {
    pub(super) method: &'static str,
    /// The upstream's own name for it.
    pub(super) name: &'a str,
    pub(super) params: RawFields,
    pub(super) mirrored: Vec<(String, String)>,
    /// Whether sending it twice is safe.
    pub(super) harmless: bool,
}

/// The outcome of a request.
pub(super) enum UpstreamOutcome {
    Done(Box<RawValue>),
    Awaited(AwaitedInput),
}

/// A request in progress. Dropping it cancels it.
pub(super) struct OngoingRequest {
    request: BoxFuture<'static, Result<UpstreamReply, McpClientError>>,
    progress: mpsc::Receiver<CallProgress>,
    logs: mpsc::Receiver<Box<RawValue>>,
    asks: mpsc::Receiver<ServerRequest>,
}

#[cfg(test)]
impl OngoingRequest {
    /// A request that never finishes.
    pub(super) fn never_ending() -> Self {
        let (progress, logs, asks) = (mpsc::channel(1).1, mpsc::channel(1).1, mpsc::channel(1).1);
        Self { request: Box::pin(std::future::pending()), progress, logs, asks }
    }
}

/// The state with which the caller resumes a request.
#[derive(Serialize, Deserialize)]
enum ResumeState {
    /// The upstream's own state, raw.
    #[serde(rename = "up")]
    Upstream(Box<RawValue>),
    /// A request that is held open here.
    #[serde(rename = "held")]
    Held(String),
}

impl UpstreamSource {
    /// Sends a request to an upstream for a user, over this connection if there is one already.
    pub(super) async fn request_upstream(
        &self,
        cx: &CallContext,
        app: &AppHead,
        mut outgoing: UpstreamRequest<'_>,
        connected: Option<McpClient>,
    ) -> Result<UpstreamOutcome, ToolError> {
        let package = app.package();
        let record = app.record.upstream().ok_or_else(|| errors::not_an_upstream_error(package))?;
        if let Some(state) = resume_state(cx)? {
            match state {
                ResumeState::Held(handle) => return self.resume_request(cx, app, &handle, &outgoing).await,
                ResumeState::Upstream(state) => outgoing.params.set("requestState", state),
            }
        }
        if let Some(responses) = cx.input.as_ref().and_then(|input| input.responses.as_deref()) {
            outgoing.params.set("inputResponses", responses.to_owned());
        }
        let mut client = match connected {
            Some(client) => client,
            None => self.ready_client(cx, app, record).await?,
        };
        let mut reconnected = false;
        for _ in 0..MAX_ROUNDS {
            let driven = match self.send_and_drive(cx, app, &client, &outgoing).await {
                Ok(driven) => driven,
                // The connection closed and the request certainly did nothing: retry once over a new one.
                Err(error) if error.is_safe_to_retry() && client.is_closed() && !reconnected => {
                    reconnected = true;
                    client = self.ready_client(cx, app, record).await?;
                    continue;
                }
                Err(error) => return Err(self.to_tool_error(cx, app, error, &outgoing)),
            };
            match driven {
                DriveOutcome::Answer(UpstreamReply::Complete(raw)) => return Ok(UpstreamOutcome::Done(raw)),
                DriveOutcome::Answer(UpstreamReply::InputRequired(raw)) if cx.abilities.ask.is_none() => {
                    return pass_on_questions(cx, app, &raw);
                }
                DriveOutcome::Answer(UpstreamReply::InputRequired(raw)) => {
                    ask_caller(cx, app, &raw, &mut outgoing).await?
                }
                DriveOutcome::Parked(awaited) => return Ok(UpstreamOutcome::Awaited(awaited)),
            }
        }
        let text = format!("{package} asked for input {MAX_ROUNDS} times and did not finish.");
        Err(ToolError::new(ErrorCode::ExecutionError, text))
    }

    pub(super) async fn ready_client(
        &self,
        cx: &CallContext,
        app: &AppHead,
        record: &UpstreamRecord,
    ) -> Result<McpClient, ToolError> {
        let package = app.package();
        let mut allowed = Ok(());
        self.health_mut(package, |health| allowed = health.check_call(package, &cx.id, cx.deadline));
        allowed?;
        let mut watch = CallWatch::new(self, cx, package, CallPhase::Connection);
        let opened = self.user_connection(package, record, &cx.user, cx.abilities.declared.as_deref());
        let opened = tokio::time::timeout_at(cx.deadline, opened).await;
        watch.settle();
        match opened {
            Ok(Ok(client)) => Ok(client),
            Ok(Err(error)) => {
                self.record_no_connection(package, record, &error);
                if authorize::is_authorization_needed(&error) {
                    return Err(self.authorization_error(app));
                }
                Err(errors::unreachable_error(package, &error))
            }
            Err(_) => {
                let text = format!("{package} could not be reached in time; nothing ran.");
                self.health_mut(package, |health| {
                    health.record_unreachable("it did not connect in time".to_owned())
                });
                Err(ToolError::new(ErrorCode::AppNotAvailable, text).retryable_if(true))
            }
        }
    }

    /// Sends one request, drives it to its end, and records the upstream's health.
    async fn send_and_drive(
        &self,
        cx: &CallContext,
        app: &AppHead,
        client: &McpClient,
        outgoing: &UpstreamRequest<'_>,
    ) -> Result<DriveOutcome, McpClientError> {
        if let Some(level) = cx.abilities.log_level.as_deref() {
            client.request_log_level(level).await;
        }
        let ongoing = self.begin_request(cx, client, outgoing);
        self.drive_watched(cx, app, ongoing).await
    }

    async fn drive_watched(
        &self,
        cx: &CallContext,
        app: &AppHead,
        ongoing: OngoingRequest,
    ) -> Result<DriveOutcome, McpClientError> {
        let mut watch = CallWatch::new(self, cx, app.package(), CallPhase::Answer);
        let got = self.drive_request(cx, app, ongoing).await;
        watch.settle();
        self.record_health(app.package(), &cx.id, &got);
        got
    }

    fn begin_request(
        &self,
        cx: &CallContext,
        client: &McpClient,
        outgoing: &UpstreamRequest<'_>,
    ) -> OngoingRequest {
        let (progress_to, progress) = mpsc::channel(QUEUE);
        let (logs_to, logs) = mpsc::channel(QUEUE);
        let (asks_to, asks) = mpsc::channel(QUEUE);
        let holds = cx.abilities.can_resume && !client.revision().is_modern();
        let deadline = if holds { Instant::now() + self.parts.settings.held } else { cx.deadline };
        let options = RequestOptions {
            progress: cx.notices.has_listener().then_some(progress_to),
            deadline: Some(deadline),
            meta: trace_meta(cx),
            capabilities: Some(caller_capabilities(cx)),
            log_level: cx.abilities.log_level.as_deref().map(str::to_owned),
            logs: cx.abilities.log_level.is_some().then_some(logs_to),
            asks: Some(asks_to),
            name: Some(outgoing.name.to_owned()),
            mirrored: outgoing.mirrored.clone(),
            owner: Some(cx.user.as_str().into()),
        };
        let (client, method, params) = (client.clone(), outgoing.method, outgoing.params.to_raw());
        let request = Box::pin(async move { client.request(method, Some(&params), options).await });
        OngoingRequest { request, progress, logs, asks }
    }

    /// Waits for the response and forwards everything else to the caller.
    async fn drive_request(
        &self,
        cx: &CallContext,
        app: &AppHead,
        mut ongoing: OngoingRequest,
    ) -> Result<DriveOutcome, McpClientError> {
        let began = Instant::now();
        let answer = loop {
            tokio::select! {
                biased;
                Some(progress) = ongoing.progress.recv() => cx.notices.send_progress(progress),
                Some(line) = ongoing.logs.recv() => cx.notices.send(CallNotice::Log(line)),
                Some(ask) = ongoing.asks.recv() => match &cx.abilities.ask {
                    Some(caller) => {
                        let params = origin::with_origin(app, &ask.method, ask.params);
                        let question = SourceQuestion { method: ask.method, params, answer: ask.answer };
                        // A caller that is gone refuses by not answering.
                        caller.send(question).await;
                    }
                    None if cx.abilities.can_resume => {
                        return Ok(DriveOutcome::Parked(self.park_request(cx, app, ongoing, ask)));
                    }
                    // Dropping the question refuses it.
                    None => {}
                },
                answer = &mut ongoing.request => break answer,
                // A request that may be held open has more time than its caller, whose deadline is over.
                () = tokio::time::sleep_until(cx.deadline) => break Err(McpClientError::Timeout(began.elapsed())),
            }
        };
        while let Ok(progress) = ongoing.progress.try_recv() {
            cx.notices.send_progress(progress);
        }
        while let Ok(line) = ongoing.logs.try_recv() {
            cx.notices.send(CallNotice::Log(line));
        }
        answer.map(DriveOutcome::Answer)
    }

    fn park_request(
        &self,
        cx: &CallContext,
        app: &AppHead,
        ongoing: OngoingRequest,
        ask: ServerRequest,
    ) -> AwaitedInput {
        let params = origin::with_origin(app, &ask.method, ask.params.clone());
        let question = json!({ "method": ask.method, "params": params });
        let requests = to_raw(&json!({ HELD_KEY: question }));
        let (user, caller) = (cx.user.clone(), cx.caller.clone());
        let held = HeldRequest { user, caller, package: app.package().clone(), ongoing, ask };
        let handle = self.held.hold(held, &*self.parts.ids);
        AwaitedInput {
            requests: Some(requests.into()),
            state: Some(to_raw(&ResumeState::Held(handle)).get().into()),
        }
    }

    /// Resumes a request that was held open for the caller.
    async fn resume_request(
        &self,
        cx: &CallContext,
        app: &AppHead,
        handle: &str,
        outgoing: &UpstreamRequest<'_>,
    ) -> Result<UpstreamOutcome, ToolError> {
        let package = app.package();
        let held = self.held.take(handle, (&cx.user, &cx.caller), package).ok_or_else(|| {
            let text = format!("{package} no longer waits for this answer; start the call again.");
            ToolError::new(ErrorCode::InvalidRequest, text)
        })?;
        let responses = cx.input.as_ref().and_then(|input| input.responses.as_deref());
        let responses: RawFields =
            responses.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let Some(answer) = responses.get(HELD_KEY) else {
            // Without an answer the question is asked again.
            let HeldRequest { ongoing, ask, .. } = held;
            return Ok(UpstreamOutcome::Awaited(self.park_request(cx, app, ongoing, ask)));
        };
        let HeldRequest { ongoing, ask, .. } = held;
        let _ = ask.answer.send(Ok(answer.to_owned()));
        match self.drive_watched(cx, app, ongoing).await {
            Ok(DriveOutcome::Answer(answer)) => match answer.into_complete() {
                Ok(raw) => Ok(UpstreamOutcome::Done(raw)),
                Err(error) => {
                    Err(errors::request_error(cx, package, outgoing.method, error, outgoing.harmless))
                }
            },
            Ok(DriveOutcome::Parked(awaited)) => Ok(UpstreamOutcome::Awaited(awaited)),
            Err(error) => Err(errors::request_error(cx, package, outgoing.method, error, outgoing.harmless)),
        }
    }

    /// Records how the upstream did.
    fn record_health(
        &self,
        package: &PackageName,
        call: &CallId,
        got: &Result<DriveOutcome, McpClientError>,
    ) {
        let fault = match got {
            // A JSON-RPC error is a response.
            Ok(_) | Err(McpClientError::Rpc(_)) => {
                return self.health_mut(package, |health| health.record_success());
            }
            Err(error) => errors::fault_in(error).map(|fault| (fault, error.to_string())),
        };
        match fault {
            Some((RequestFault::Connection, why)) => {
                self.health_mut(package, |health| health.record_unreachable(why))
            }
            Some((RequestFault::Call, why)) => {
                self.health_mut(package, |health| health.record_call_failure(&why))
            }
            None => return self.health_mut(package, |health| health.record_call_left(call)),
        }
        self.refresh_soon(package);
    }

    fn to_tool_error(
        &self,
        cx: &CallContext,
        app: &AppHead,
        error: McpClientError,
        outgoing: &UpstreamRequest<'_>,
    ) -> ToolError {
        match &error {
            McpClientError::AuthorizationNeeded { .. } => return self.authorization_error(app),
            // Its tools differ from the known list.
            McpClientError::Rpc(refused) if refused.code == RpcError::HEADER_MISMATCH => {
                self.refresh_soon(app.package())
            }
            // The caller's input does not match the question: this error is for the caller, not for the model.
            McpClientError::Rpc(refused)
                if refused.code == RpcError::INVALID_PARAMS && cx.input.is_some() =>
            {
                let text = format!("{} refused: {}", app.package(), refused.message);
                return ToolError::new(ErrorCode::InvalidRequest, text);
            }
            _ => {}
        }
        errors::request_error(cx, app.package(), outgoing.method, error, outgoing.harmless)
    }
}

/// How far a request got.
pub(super) enum DriveOutcome {
    Answer(UpstreamReply),
    Parked(AwaitedInput),
}

/// The state that the caller sent back, if any.
fn resume_state(cx: &CallContext) -> Result<Option<ResumeState>, ToolError> {
    let Some(state) = cx.input.as_ref().and_then(|input| input.state.as_deref()) else { return Ok(None) };
    let read = serde_json::from_str(state).map(Some);
    read.map_err(|error| {
        ToolError::new(ErrorCode::InvalidRequest, "The request state cannot be read; start the call again.")
            .with_cause(error)
    })
}

/// The capabilities that the caller declared.
fn caller_capabilities(cx: &CallContext) -> Box<RawValue> {
    let declared = cx.abilities.declared.as_deref();
    declared.map_or_else(|| to_raw(&serde_json::Map::new()), RawValue::to_owned)
}

fn trace_meta(cx: &CallContext) -> Vec<(String, Box<RawValue>)> {
    let parent = (meta::TRACEPARENT.to_owned(), to_raw(&cx.trace.to_header().to_string()));
    let more = cx.baggage.iter().map(|(name, value)| ((*name).to_owned(), to_raw(&**value)));
    std::iter::once(parent).chain(more).collect()
}

/// Passes the questions of a modern upstream on to a caller that can return with the answers.
fn pass_on_questions(cx: &CallContext, app: &AppHead, raw: &RawValue) -> Result<UpstreamOutcome, ToolError> {
    if !cx.abilities.can_resume {
        let text = format!("{} asks for input that this caller cannot provide.", app.package());
        return Err(ToolError::new(ErrorCode::Denied, text));
    }
    let fields: RawFields = serde_json::from_str(raw.get()).unwrap_or_default();
    let state = fields.get("requestState").map(|state| ResumeState::Upstream(state.to_owned()));
    let requests =
        fields.get("inputRequests").map(|requests| Arc::from(origin::all_with_origin(app, requests)));
    Ok(UpstreamOutcome::Awaited(AwaitedInput {
        requests,
        state: state.map(|state| to_raw(&state).get().into()),
    }))
}

/// Asks the caller all questions of a modern upstream, and adds the answers to the next request.
async fn ask_caller(
    cx: &CallContext,
    app: &AppHead,
    raw: &RawValue,
    outgoing: &mut UpstreamRequest<'_>,
) -> Result<(), ToolError> {
    let package = app.package();
    #[derive(Deserialize)]
    struct Request {
        method: String,
        params: Option<Box<RawValue>>,
    }
    let fields: RawFields = serde_json::from_str(raw.get()).unwrap_or_default();
    let requests: RawFields = fields.parse_field("inputRequests").and_then(Result::ok).unwrap_or_default();
    let mut responses = RawFields::default();
    for key in requests.names() {
        let Some(Ok(request)) = requests.parse_field::<Request>(key) else { continue };
        let (answer, answered) = oneshot::channel();
        let params = origin::with_origin(app, &request.method, request.params);
        let question = SourceQuestion { method: request.method, params, answer };
        let asked = match &cx.abilities.ask {
            Some(caller) => caller.send(question).await,
            None => false,
        };
        let answer = if asked { answered.await.ok() } else { None };
        match answer {
            Some(Ok(raw)) => responses.set(key, raw),
            Some(Err(error)) => {
                let text = format!("{package} asked for input, and the caller refused: {}", error.message);
                return Err(ToolError::new(ErrorCode::Denied, text));
            }
            None => {
                let text = format!("{package} asked for input, and the caller did not answer.");
                return Err(ToolError::new(ErrorCode::Denied, text));
            }
        }
    }
    outgoing.params.set("inputResponses", responses.to_raw());
    match fields.get("requestState") {
        Some(state) => outgoing.params.set("requestState", state.to_owned()),
        None => outgoing.params.remove("requestState"),
    }
    Ok(())
}
