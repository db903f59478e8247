//! `tools/call`: the call runs in the one executor; meanwhile progress, log lines and questions go out on its stream.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::{
    sync::mpsc,
    time::{Duration, Instant},
};
use toolyard_core::{
    CallOwner, Door, Reply, ToolCall,
    ports::{CallerAbilities, Notice, NoticeSink, Question},
};
use toolyard_protocol::{
    InvalidName, JsonLine, ToolRef,
    call::Progress,
    mcp::{RpcError, message, meta, method},
    raw::to_raw,
    result::McpResult,
};

use super::{
    awaited::Of,
    client::{Client, wants},
    params::Params,
    questions, reply,
};
use crate::{
    calls::{self, Asked},
    state::AppState,
};

/// News that wait for a slow client; more are dropped.
const NOTICE_QUEUE: usize = 64;
/// Questions that wait to be sent.
const QUESTION_QUEUE: usize = 8;
/// Progress messages at once after a pause, and how long one takes to be earned again.
const PROGRESS_BURST: u32 = 32;
const PROGRESS_EVERY: Duration = Duration::from_millis(50);

/// Where messages before the answer go.
pub(super) type Out = mpsc::Sender<JsonLine>;

/// `tools/call`
pub(super) async fn call(
    state: &AppState,
    client: &Client,
    params: &Params,
    out: &Out,
) -> Result<Box<RawValue>, RpcError> {
    let name: String = params.need("name")?;
    let tool: ToolRef =
        name.parse().map_err(|error: InvalidName| RpcError::params(format!("Unknown tool: {error}")))?;
    let arguments = params.raw("arguments");
    let of = Of { owner: &client.who.owner(), method: method::TOOLS_CALL, name: &name, arguments };
    let input = of.input(params, state.clock.now(), &*state.secrets)?;
    let (mut relay, notices, abilities) = Relay::new(state, client, params, out);
    let mut asked = asked(params, notices, abilities)?;
    asked.input = input;
    let modern = client.is_modern();
    let call = ToolCall { name: tool, arguments: arguments.map(RawValue::to_owned) };
    let running = match calls::start(state, client.who.clone(), call, asked).await {
        Ok(running) => running,
        Err(error) => return reply::failed(&error, modern),
    };
    match relay.until(running.outcome()).await {
        Ok(Reply::Done(result)) => Ok(reply::done(&result, modern)),
        Ok(Reply::AwaitingInput(awaited)) if modern => {
            Ok(of.result(&awaited, state.clock.now(), &*state.secrets))
        }
        Ok(Reply::AwaitingInput(_)) => {
            let text = "This tool asks for input that this client cannot give.";
            Ok(reply::with_type(McpResult::error(text).raw(), modern))
        }
        Err(error) => reply::failed(&error, modern),
    }
}

/// What the request says beside what is called.
pub(super) fn asked(
    params: &Params,
    notices: NoticeSink,
    abilities: CallerAbilities,
) -> Result<Asked, RpcError> {
    let mut asked = Asked::through(Door::Mcp).telling(notices);
    asked.abilities = abilities;
    asked.parent = params.meta_text(meta::TRACEPARENT).and_then(|text| text.parse().ok());
    for name in [meta::TRACESTATE, meta::BAGGAGE] {
        asked.baggage.extend(params.meta_text(name).map(|value| (name, value.into())));
    }
    if let Some(key) = params.meta_text(meta::IDEMPOTENCY_KEY) {
        let place = format!("params._meta[\"{}\"]", meta::IDEMPOTENCY_KEY);
        let key = calls::checked_key(&key);
        asked.key = Some(key.ok_or_else(|| RpcError::params(calls::bad_key(&place).for_model))?);
    }
    Ok(asked)
}

/// Carries what a source says while it works to the client.
pub(super) struct Relay<'a> {
    state: &'a AppState,
    owner: CallOwner,
    out: &'a Out,
    token: Option<Arc<RawValue>>,
    log_level: Option<Arc<str>>,
    /// Only where something may come: most calls are plain, and a queue is not free.
    notices: Option<mpsc::Receiver<Notice>>,
    questions: Option<mpsc::Receiver<Question>>,
    asked: questions::Asked,
    rate: Rate,
    last: f64,
}

impl<'a> Relay<'a> {
    pub(super) fn new(
        state: &'a AppState,
        client: &Client,
        params: &Params,
        out: &'a Out,
    ) -> (Self, NoticeSink, CallerAbilities) {
        let token = params.progress_token();
        // Clients of the handshake revisions get lines of every level until they say otherwise, as servers always did.
        let log_level = match client.is_modern() {
            true => client.log_level.clone(),
            false => Some(client.log_level.clone().unwrap_or_else(|| "debug".into())),
        };
        let hears = token.is_some() || log_level.is_some();
        let (sink, notices) = queue(hears, NOTICE_QUEUE);
        let (ask, questions) = queue(!client.is_modern() && client.declared.is_some(), QUESTION_QUEUE);
        let abilities = CallerAbilities {
            declared: client.declared.clone(),
            ask,
            comes_back: client.is_modern(),
            log_level: log_level.clone(),
        };
        let relay = Self {
            state,
            owner: client.who.owner(),
            out,
            token,
            log_level,
            notices,
            questions,
            asked: state.mcp.questions.of_a_call(),
            rate: Rate::new(),
            last: f64::NEG_INFINITY,
        };
        (relay, sink.map(NoticeSink::new).unwrap_or_default(), abilities)
    }

    /// Waits for the outcome, and relays meanwhile. What was said before the outcome goes out before it.
    pub(super) async fn until<T>(&mut self, outcome: impl Future<Output = T>) -> T {
        tokio::pin!(outcome);
        let outcome = loop {
            tokio::select! {
                biased;
                Some(notice) = next(&mut self.notices) => self.tell(notice),
                Some(question) = next(&mut self.questions) => self.ask(question).await,
                outcome = &mut outcome => break outcome,
            }
        };
        while let Some(notice) = self.notices.as_mut().and_then(|notices| notices.try_recv().ok()) {
            self.tell(notice);
        }
        outcome
    }

    fn tell(&mut self, notice: Notice) {
        match notice {
            Notice::Progress(progress) => self.progress(&progress),
            Notice::Log(line) if wants(self.log_level.as_deref(), &line) => {
                let _ = self
                    .out
                    .try_send(JsonLine::from_json(message::notification(method::MESSAGE, Some(&line))));
            }
            Notice::Log(_) => {}
        }
    }

    /// Only with a token, only forward, and not more often than anybody can read.
    fn progress(&mut self, progress: &Progress) {
        let Some(token) = &self.token else { return };
        if !progress.progress.is_finite() || progress.progress <= self.last || !self.rate.takes_one() {
            return;
        }
        self.last = progress.progress;
        let params = ProgressParams {
            progress_token: token,
            progress: progress.progress,
            total: progress.total.filter(|total| total.is_finite()),
            message: progress.message.as_deref(),
        };
        let progress = message::notification(method::PROGRESS, Some(&to_raw(&params)));
        let _ = self.out.try_send(JsonLine::from_json(progress));
    }

    async fn ask(&mut self, question: Question) {
        let Question { method, params, answer } = question;
        let id = self.asked.ask(&self.owner, answer, &*self.state.ids);
        let _ = self.out.send(JsonLine::from_json(message::request(&id, &method, params.as_deref()))).await;
    }
}

/// A queue, where it is wanted.
fn queue<T>(wanted: bool, depth: usize) -> (Option<mpsc::Sender<T>>, Option<mpsc::Receiver<T>>) {
    wanted.then(|| mpsc::channel(depth)).unzip()
}

async fn next<T>(queue: &mut Option<mpsc::Receiver<T>>) -> Option<T> {
    match queue {
        Some(queue) => queue.recv().await,
        None => None,
    }
}

/// Progress as a client hears it; its token stays as it came.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressParams<'a> {
    progress_token: &'a RawValue,
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

/// A bucket of messages that fills again with time.
struct Rate {
    left: u32,
    since: Instant,
}

impl Rate {
    fn new() -> Self {
        Self { left: PROGRESS_BURST, since: Instant::now() }
    }

    fn takes_one(&mut self) -> bool {
        let earned = self.since.elapsed().as_millis() / PROGRESS_EVERY.as_millis();
        let earned = u32::try_from(earned).unwrap_or(PROGRESS_BURST);
        if earned > 0 {
            self.left = self.left.saturating_add(earned).min(PROGRESS_BURST);
            self.since = Instant::now();
        }
        let takes = self.left > 0;
        self.left = self.left.saturating_sub(1);
        takes
    }
}
