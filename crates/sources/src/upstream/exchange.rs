//! One request to an upstream, from its first byte to its answer: progress and log lines go to the caller, and so do
//! questions, in the four pairs of eras.
//!
//! | caller | upstream | how a question gets there |
//! | --- | --- | --- |
//! | without handshake | without | the reply that awaits input is passed on, the upstream's state in ours |
//! | with | with | asked on the caller's stream, answered on the upstream's |
//! | with | without | asked on the caller's stream, then the request is made again with the answers |
//! | without | with | the request is held open, the caller sent away and awaited back: see [`held`](super::held) |

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
    executor::Awaited,
    ports::{Notice, Question, UpstreamRecord},
};
use toolyard_mcp_client::{Answer, Ask, Client, ClientError, RequestOptions};
use toolyard_protocol::{
    CallId, ErrorCode, PackageName,
    call::Progress,
    mcp::{RpcError, meta},
    raw::{RawFields, to_raw},
};

use super::{
    UpstreamSource, authorize,
    call_watch::{CallWatch, Waits},
    errors::{self, Fault},
    held::Held,
    origin,
};

/// News of one request that wait for us.
const QUEUE: usize = 64;
/// How often an upstream may ask back in one request.
const MAX_ROUNDS: usize = 16;
/// The key under which the question of a held request goes to the caller.
const HELD_KEY: &str = "input";

/// What is asked of an upstream.
pub(super) struct Wanted<'a> {
    pub(super) method: &'static str,
    /// As the upstream knows it.
    pub(super) name: &'a str,
    pub(super) params: RawFields,
    pub(super) mirrored: Vec<(String, String)>,
    /// Whether asking twice does no harm.
    pub(super) harmless: bool,
}

/// What came of it.
pub(super) enum Got {
    Done(Box<RawValue>),
    Awaited(Awaited),
}

/// A request under way. Dropping it cancels it.
pub(super) struct Ongoing {
    request: BoxFuture<'static, Result<Answer, ClientError>>,
    progress: mpsc::Receiver<Progress>,
    logs: mpsc::Receiver<Box<RawValue>>,
    asks: mpsc::Receiver<Ask>,
}

#[cfg(test)]
impl Ongoing {
    /// A request without an end.
    pub(super) fn endless() -> Self {
        let (progress, logs, asks) = (mpsc::channel(1).1, mpsc::channel(1).1, mpsc::channel(1).1);
        Self { request: Box::pin(std::future::pending()), progress, logs, asks }
    }
}

/// What a source needs to go on: what the caller brings back.
#[derive(Serialize, Deserialize)]
enum State {
    /// The upstream's own state, raw.
    #[serde(rename = "up")]
    Upstream(Box<RawValue>),
    /// A request that is held open here.
    #[serde(rename = "held")]
    Held(String),
}

impl UpstreamSource {
    /// Asks an upstream for a user, over this connection if there is one already.
    pub(super) async fn ask(
        &self,
        cx: &CallContext,
        app: &AppHead,
        mut wanted: Wanted<'_>,
        connected: Option<Client>,
    ) -> Result<Got, ToolError> {
        let package = app.package();
        let record = app.record.upstream().ok_or_else(|| errors::not_one(package))?;
        if let Some(state) = resumed(cx)? {
            match state {
                State::Held(handle) => return self.resume(cx, app, &handle, &wanted).await,
                State::Upstream(state) => wanted.params.set("requestState", state),
            }
        }
        if let Some(responses) = cx.input.as_ref().and_then(|input| input.responses.as_deref()) {
            wanted.params.set("inputResponses", responses.to_owned());
        }
        let mut client = match connected {
            Some(client) => client,
            None => self.ready_client(cx, app, record).await?,
        };
        let mut reconnected = false;
        for _ in 0..MAX_ROUNDS {
            let driven = match self.driven(cx, app, &client, &wanted).await {
                Ok(driven) => driven,
                // The connection ended, and the request surely did nothing: once more over another one.
                Err(error) if error.surely_not_done() && client.is_closed() && !reconnected => {
                    reconnected = true;
                    client = self.ready_client(cx, app, record).await?;
                    continue;
                }
                Err(error) => return Err(self.told(cx, app, error, &wanted).await),
            };
            match driven {
                Driven::Answer(Answer::Complete(raw)) => return Ok(Got::Done(raw)),
                Driven::Answer(Answer::InputRequired(raw)) if cx.abilities.ask.is_none() => {
                    return passed_down(cx, app, &raw);
                }
                Driven::Answer(Answer::InputRequired(raw)) => answer_all(cx, app, &raw, &mut wanted).await?,
                Driven::Parked(awaited) => return Ok(Got::Awaited(awaited)),
            }
        }
        let text = format!("{package} asked back {MAX_ROUNDS} times and came to no end.");
        Err(ToolError::new(ErrorCode::ExecutionError, text))
    }

    pub(super) async fn ready_client(
        &self,
        cx: &CallContext,
        app: &AppHead,
        record: &UpstreamRecord,
    ) -> Result<Client, ToolError> {
        let package = app.package();
        let mut allowed = Ok(());
        self.health_mut(package, |health| allowed = health.check(package, &cx.id, cx.deadline));
        allowed?;
        let mut watch = CallWatch::new(self, cx, package, Waits::Connection);
        let opened = self.connection(package, record, &cx.user, cx.abilities.declared.as_deref());
        let opened = tokio::time::timeout_at(cx.deadline, opened).await;
        watch.settled();
        match opened {
            Ok(Ok(client)) => Ok(client),
            Ok(Err(error)) => {
                self.no_connection(package, record, &error);
                if authorize::is_wanted(&error) {
                    return Err(self.with_link(cx, app).await);
                }
                Err(errors::unreachable(package, &error))
            }
            Err(_) => {
                let text = format!("{package} did not let itself be reached in time; nothing ran.");
                self.health_mut(package, |health| health.failed("it did not connect in time".to_owned()));
                Err(ToolError::new(ErrorCode::AppNotAvailable, text).retryable_if(true))
            }
        }
    }

    /// One request from its start to its end, and whether the upstream did well in it.
    async fn driven(
        &self,
        cx: &CallContext,
        app: &AppHead,
        client: &Client,
        wanted: &Wanted<'_>,
    ) -> Result<Driven, ClientError> {
        if let Some(level) = cx.abilities.log_level.as_deref() {
            client.want_level(level).await;
        }
        let ongoing = self.begin(cx, client, wanted);
        self.watched_drive(cx, app, ongoing).await
    }

    async fn watched_drive(
        &self,
        cx: &CallContext,
        app: &AppHead,
        ongoing: Ongoing,
    ) -> Result<Driven, ClientError> {
        let mut watch = CallWatch::new(self, cx, app.package(), Waits::Answer);
        let got = self.drive(cx, app, ongoing).await;
        watch.settled();
        self.book(app.package(), &cx.id, &got);
        got
    }

    fn begin(&self, cx: &CallContext, client: &Client, wanted: &Wanted<'_>) -> Ongoing {
        let (progress_to, progress) = mpsc::channel(QUEUE);
        let (logs_to, logs) = mpsc::channel(QUEUE);
        let (asks_to, asks) = mpsc::channel(QUEUE);
        let holds = cx.abilities.comes_back && !client.revision().is_modern();
        let deadline = if holds { Instant::now() + self.parts.settings.held } else { cx.deadline };
        let options = RequestOptions {
            progress: cx.notices.is_wanted().then_some(progress_to),
            deadline: Some(deadline),
            meta: trace(cx),
            capabilities: Some(declared(cx)),
            log_level: cx.abilities.log_level.as_deref().map(str::to_owned),
            logs: cx.abilities.log_level.is_some().then_some(logs_to),
            asks: Some(asks_to),
            name: Some(wanted.name.to_owned()),
            mirrored: wanted.mirrored.clone(),
            owner: Some(cx.user.as_str().into()),
        };
        let (client, method, params) = (client.clone(), wanted.method, wanted.params.to_raw());
        let request = Box::pin(async move { client.request(method, Some(&params), options).await });
        Ongoing { request, progress, logs, asks }
    }

    /// Waits for the answer, and carries everything else to the caller.
    async fn drive(
        &self,
        cx: &CallContext,
        app: &AppHead,
        mut ongoing: Ongoing,
    ) -> Result<Driven, ClientError> {
        let began = Instant::now();
        let answer = loop {
            tokio::select! {
                biased;
                Some(progress) = ongoing.progress.recv() => cx.notices.progress(progress),
                Some(line) = ongoing.logs.recv() => cx.notices.send(Notice::Log(line)),
                Some(ask) = ongoing.asks.recv() => match &cx.abilities.ask {
                    Some(caller) => {
                        let params = origin::named(app, &ask.method, ask.params);
                        let question = Question { method: ask.method, params, answer: ask.answer };
                        // A caller that is gone refuses by not answering.
                        let _ = caller.send(question).await;
                    }
                    None if cx.abilities.comes_back => {
                        return Ok(Driven::Parked(self.park(cx, app, ongoing, ask)));
                    }
                    // Dropped, which refuses.
                    None => {}
                },
                answer = &mut ongoing.request => break answer,
                // One that may be held open has more time than its caller, who waits no longer.
                () = tokio::time::sleep_until(cx.deadline) => break Err(ClientError::Timeout(began.elapsed())),
            }
        };
        while let Ok(progress) = ongoing.progress.try_recv() {
            cx.notices.progress(progress);
        }
        while let Ok(line) = ongoing.logs.try_recv() {
            cx.notices.send(Notice::Log(line));
        }
        answer.map(Driven::Answer)
    }

    fn park(&self, cx: &CallContext, app: &AppHead, ongoing: Ongoing, ask: Ask) -> Awaited {
        let params = origin::named(app, &ask.method, ask.params.clone());
        let question = json!({ "method": ask.method, "params": params });
        let requests = to_raw(&json!({ HELD_KEY: question }));
        let (user, caller) = (cx.user.clone(), cx.caller.clone());
        let held = Held { user, caller, package: app.package().clone(), ongoing, ask };
        let handle = self.held.park(held, &*self.parts.ids);
        Awaited { requests: Some(requests.into()), state: Some(to_raw(&State::Held(handle)).get().into()) }
    }

    /// A caller comes back to a request that was held open for it.
    async fn resume(
        &self,
        cx: &CallContext,
        app: &AppHead,
        handle: &str,
        wanted: &Wanted<'_>,
    ) -> Result<Got, ToolError> {
        let package = app.package();
        let held = self.held.take(handle, (&cx.user, &cx.caller), package).ok_or_else(|| {
            let text = format!("{package} does not wait for this answer any more; begin the call again.");
            ToolError::new(ErrorCode::InvalidRequest, text)
        })?;
        let responses = cx.input.as_ref().and_then(|input| input.responses.as_deref());
        let responses: RawFields =
            responses.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let Some(answer) = responses.get(HELD_KEY) else {
            // Not answered: asked again.
            let Held { ongoing, ask, .. } = held;
            return Ok(Got::Awaited(self.park(cx, app, ongoing, ask)));
        };
        let Held { ongoing, ask, .. } = held;
        let _ = ask.answer.send(Ok(answer.to_owned()));
        match self.watched_drive(cx, app, ongoing).await {
            Ok(Driven::Answer(answer)) => match answer.complete() {
                Ok(raw) => Ok(Got::Done(raw)),
                Err(error) => Err(errors::failed(cx, package, wanted.method, error, wanted.harmless)),
            },
            Ok(Driven::Parked(awaited)) => Ok(Got::Awaited(awaited)),
            Err(error) => Err(errors::failed(cx, package, wanted.method, error, wanted.harmless)),
        }
    }

    /// Whether the upstream did well.
    fn book(&self, package: &PackageName, call: &CallId, got: &Result<Driven, ClientError>) {
        let fault = match got {
            // An error of the protocol is an answer.
            Ok(_) | Err(ClientError::Rpc(_)) => return self.health_mut(package, |health| health.well()),
            Err(error) => errors::fault_in(error).map(|fault| (fault, error.to_string())),
        };
        match fault {
            Some((Fault::Connection, why)) => self.health_mut(package, |health| health.failed(why)),
            Some((Fault::Call, why)) => self.health_mut(package, |health| health.call_failed(&why)),
            None => return self.health_mut(package, |health| health.call_left(call)),
        }
        self.look_again(package);
    }

    async fn told(
        &self,
        cx: &CallContext,
        app: &AppHead,
        error: ClientError,
        wanted: &Wanted<'_>,
    ) -> ToolError {
        match &error {
            ClientError::AuthorizationNeeded { .. } => return self.with_link(cx, app).await,
            // Its tools are others than we know.
            ClientError::Rpc(refused) if refused.code == RpcError::HEADER_MISMATCH => {
                self.look_again(app.package())
            }
            // What the caller brought back is not what was asked for: that is the caller's to hear, not the model's.
            ClientError::Rpc(refused) if refused.code == RpcError::INVALID_PARAMS && cx.input.is_some() => {
                let text = format!("{} refused: {}", app.package(), refused.message);
                return ToolError::new(ErrorCode::InvalidRequest, text);
            }
            _ => {}
        }
        errors::failed(cx, app.package(), wanted.method, error, wanted.harmless)
    }
}

/// How far a request got.
pub(super) enum Driven {
    Answer(Answer),
    Parked(Awaited),
}

/// What the caller brings back, where it brings a state.
fn resumed(cx: &CallContext) -> Result<Option<State>, ToolError> {
    let Some(state) = cx.input.as_ref().and_then(|input| input.state.as_deref()) else { return Ok(None) };
    let read = serde_json::from_str(state).map(Some);
    read.map_err(|error| {
        ToolError::new(ErrorCode::InvalidRequest, "The state that came back cannot be read; begin again.")
            .because(error)
    })
}

/// What sources may ask of this caller.
fn declared(cx: &CallContext) -> Box<RawValue> {
    let declared = cx.abilities.declared.as_deref();
    declared.map_or_else(|| to_raw(&serde_json::Map::new()), RawValue::to_owned)
}

fn trace(cx: &CallContext) -> Vec<(String, Box<RawValue>)> {
    let parent = (meta::TRACEPARENT.to_owned(), to_raw(&cx.trace.to_header().to_string()));
    let more = cx.baggage.iter().map(|(name, value)| ((*name).to_owned(), to_raw(&**value)));
    std::iter::once(parent).chain(more).collect()
}

/// A question of a modern upstream for a caller that comes back with the answer.
fn passed_down(cx: &CallContext, app: &AppHead, raw: &RawValue) -> Result<Got, ToolError> {
    if !cx.abilities.comes_back {
        let text = format!("{} asks for input that this caller cannot give.", app.package());
        return Err(ToolError::new(ErrorCode::Denied, text));
    }
    let fields: RawFields = serde_json::from_str(raw.get()).unwrap_or_default();
    let state = fields.get("requestState").map(|state| State::Upstream(state.to_owned()));
    let requests = fields.get("inputRequests").map(|requests| Arc::from(origin::all_named(app, requests)));
    Ok(Got::Awaited(Awaited { requests, state: state.map(|state| to_raw(&state).get().into()) }))
}

/// Asks the caller everything that a modern upstream wants to know, and puts the answers into the next request.
async fn answer_all(
    cx: &CallContext,
    app: &AppHead,
    raw: &RawValue,
    wanted: &mut Wanted<'_>,
) -> Result<(), ToolError> {
    let package = app.package();
    #[derive(Deserialize)]
    struct Request {
        method: String,
        params: Option<Box<RawValue>>,
    }
    let fields: RawFields = serde_json::from_str(raw.get()).unwrap_or_default();
    let requests: RawFields = fields.read("inputRequests").and_then(Result::ok).unwrap_or_default();
    let mut responses = RawFields::default();
    for key in requests.names() {
        let Some(Ok(request)) = requests.read::<Request>(key) else { continue };
        let (answer, answered) = oneshot::channel();
        let params = origin::named(app, &request.method, request.params);
        let question = Question { method: request.method, params, answer };
        let asked = match &cx.abilities.ask {
            Some(caller) => caller.send(question).await.is_ok(),
            None => false,
        };
        let answer = if asked { answered.await.ok() } else { None };
        match answer {
            Some(Ok(raw)) => responses.set(key, raw),
            Some(Err(error)) => {
                let text = format!("{package} asked back, and the caller refused: {}", error.message);
                return Err(ToolError::new(ErrorCode::Denied, text));
            }
            None => {
                let text = format!("{package} asked back, and the caller did not answer.");
                return Err(ToolError::new(ErrorCode::Denied, text));
            }
        }
    }
    wanted.params.set("inputResponses", responses.to_raw());
    match fields.get("requestState") {
        Some(state) => wanted.params.set("requestState", state.to_owned()),
        None => wanted.params.remove("requestState"),
    }
    Ok(())
}
