//! `tools/call`: runs the call in the executor and relays its progress, log lines and questions to the client.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{json, value::RawValue};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Duration, Instant},
};
use toolyard_core::{
    CallOwner, CallReply, Door, ToolCall,
    executor::MAX_SIGN_INS,
    ports::{CallNotice, CallerAbilities, NoticeSink, QuestionSender, SourceQuestion},
};
use toolyard_protocol::{
    InvalidName, JsonLine, ToolRef,
    call::CallProgress,
    mcp::{RpcError, message, meta, method},
    raw::to_raw,
};

use super::{
    approval::ApprovalDialog,
    client::{McpClientContext, should_send_log},
    params::RpcParams,
    questions, reply,
    request_state::{AskedUser, SealedRequest},
    sign_in::{self, SignInDialog, SignInStep},
    waiting::ClientQuestion,
};
use crate::{
    calls::{self, CallRequest},
    state::ServerState,
};

/// Notices queued for a slow client. More are dropped.
const NOTICE_QUEUE: usize = 64;
/// Questions queued to be sent.
const QUESTION_QUEUE: usize = 8;
/// Burst size of progress messages, and the interval at which one more is allowed.
const PROGRESS_BURST: u32 = 32;
const PROGRESS_EVERY: Duration = Duration::from_millis(50);

/// Sends messages that precede the response.
pub(super) type MessageSender = mpsc::Sender<JsonLine>;

/// `tools/call`
pub(super) async fn call_tool(
    state: &ServerState,
    client: &McpClientContext,
    params: &RpcParams,
    out: &MessageSender,
) -> Result<Box<RawValue>, RpcError> {
    let name: String = params.required("name")?;
    let tool: ToolRef = name
        .parse()
        .map_err(|error: InvalidName| RpcError::invalid_params(format!("Unknown tool: {error}")))?;
    let arguments = params.raw("arguments");
    let sealed =
        SealedRequest { owner: &client.who.call_owner(), method: method::TOOLS_CALL, name: &name, arguments };
    let modern = client.is_modern();
    let mut relay = CallRelay::new(state, client, params, out);
    let mut request = call_options(client, params, &mut relay)?;
    let dialog = ApprovalDialog { state, client, sealed: &sealed, has_key: request.key.is_some() };
    let sign_in = SignInDialog { state, client, sealed: &sealed };
    let asked = if modern { sealed.read_asked(params, state.clock.now(), &*state.secrets)? } else { None };
    match asked {
        Some(AskedUser::Approval(asked)) => {
            return Box::pin(dialog.resume(asked, params, &mut relay)).await;
        }
        Some(AskedUser::SignIn(asked)) => match Box::pin(sign_in.resume(asked, params, &mut relay)).await? {
            SignInStep::Run => {}
            SignInStep::Reply(reply) => return Ok(reply),
            SignInStep::NotAsked(awaited) => return sign_in::link_reply(awaited, modern),
        },
        None => request.input = sealed.read_input(params, state.clock.now(), &*state.secrets)?,
    }
    for _ in 0..=MAX_SIGN_INS {
        let call = ToolCall { name: tool.clone(), arguments: arguments.map(RawValue::to_owned) };
        let running = match calls::start_call(state, client.who.clone(), call, request).await {
            Ok(running) => running,
            Err(error) => return reply::error_reply(&error, modern),
        };
        match relay.relay_until(running.outcome()).await {
            Ok(CallReply::AwaitingInput(awaited)) if modern => {
                return sealed.input_required_result(&awaited, state.clock.now(), &*state.secrets);
            }
            Ok(CallReply::AwaitingApproval(awaited)) => {
                return Box::pin(dialog.ask(&awaited, &mut relay)).await;
            }
            Ok(CallReply::AwaitingSignIn(awaited)) => {
                match Box::pin(sign_in.ask(&awaited, &mut relay)).await? {
                    SignInStep::Run => request = call_options(client, params, &mut relay)?,
                    SignInStep::Reply(reply) => return Ok(reply),
                    SignInStep::NotAsked(awaited) => return sign_in::link_reply(awaited, modern),
                }
            }
            outcome => return reply::outcome_reply(&outcome, modern),
        }
    }
    reply::error_reply(&sign_in::rejected_error(&name), modern)
}

/// The options of a call from the params of its request.
pub(super) fn call_options(
    client: &McpClientContext,
    params: &RpcParams,
    relay: &mut CallRelay<'_>,
) -> Result<CallRequest, RpcError> {
    let (notices, abilities) = relay.connect(client);
    let mut request = CallRequest::new(Door::Mcp).with_notices(notices);
    request.abilities = abilities;
    request.client.clone_from(&client.name);
    request.conversation.clone_from(&client.session);
    request.session = calls::session_id(Door::Mcp, &client.who);
    request.parent = params.meta_text(meta::TRACEPARENT).and_then(|text| text.parse().ok());
    for name in [meta::TRACESTATE, meta::BAGGAGE] {
        request.baggage.extend(params.meta_text(name).map(|value| (name, value.into())));
    }
    if let Some(key) = params.meta_text(meta::IDEMPOTENCY_KEY) {
        let place = format!("params._meta[\"{}\"]", meta::IDEMPOTENCY_KEY);
        let key = calls::checked_key(&key);
        request.key = Some(key.ok_or_else(|| RpcError::invalid_params(calls::bad_key(&place).for_model))?);
    }
    Ok(request)
}

/// Relays notices and questions of a source to the client during a call.
pub(super) struct CallRelay<'a> {
    state: &'a ServerState,
    owner: CallOwner,
    out: &'a MessageSender,
    token: Option<Arc<RawValue>>,
    log_level: Option<Arc<str>>,
    /// Only if the client wants notices. Most calls need none, and a queue is not free.
    notices: Option<mpsc::Receiver<CallNotice>>,
    questions: Option<mpsc::Receiver<SourceQuestion>>,
    open_questions: questions::CallQuestions,
    rate: ProgressRate,
    last_progress: f64,
}

impl<'a> CallRelay<'a> {
    pub(super) fn new(
        state: &'a ServerState,
        client: &McpClientContext,
        params: &RpcParams,
        out: &'a MessageSender,
    ) -> Self {
        let token = params.progress_token();
        // Clients of the handshake revisions get all levels by default, as is usual for servers.
        let log_level = match client.is_modern() {
            true => client.log_level.clone(),
            false => Some(client.log_level.clone().unwrap_or_else(|| "debug".into())),
        };
        Self {
            state,
            owner: client.who.call_owner(),
            out,
            token,
            log_level,
            notices: None,
            questions: None,
            open_questions: state.mcp.questions.for_call(),
            rate: ProgressRate::new(),
            last_progress: f64::NEG_INFINITY,
        }
    }

    /// The other ends of the queues, for one run of the call.
    fn connect(&mut self, client: &McpClientContext) -> (NoticeSink, CallerAbilities) {
        let hears = self.token.is_some() || self.log_level.is_some();
        let (sink, notices) = optional_queue(hears, NOTICE_QUEUE);
        let (ask, questions) =
            optional_queue(!client.is_modern() && client.declared.is_some(), QUESTION_QUEUE);
        (self.notices, self.questions) = (notices, questions);
        let abilities = CallerAbilities {
            declared: client.declared.clone(),
            ask: ask.map(QuestionSender::new),
            can_resume: client.is_modern(),
            log_level: self.log_level.clone(),
        };
        (sink.map(NoticeSink::new).unwrap_or_default(), abilities)
    }

    /// Waits for the outcome and relays meanwhile. Notices from before the outcome are sent before it.
    pub(super) async fn relay_until<T>(&mut self, outcome: impl Future<Output = T>) -> T {
        tokio::pin!(outcome);
        let outcome = loop {
            tokio::select! {
                biased;
                Some(notice) = next_item(&mut self.notices) => self.send_notice(notice),
                Some(question) = next_item(&mut self.questions) => self.send_question(question).await,
                outcome = &mut outcome => break outcome,
            }
        };
        while let Some(notice) = self.notices.as_mut().and_then(|notices| notices.try_recv().ok()) {
            self.send_notice(notice);
        }
        outcome
    }

    fn send_notice(&mut self, notice: CallNotice) {
        match notice {
            CallNotice::Progress(progress) => self.send_progress(&progress),
            CallNotice::Log(line) if should_send_log(self.log_level.as_deref(), &line) => {
                let _ = self
                    .out
                    .try_send(JsonLine::from_json(message::write_notification(method::MESSAGE, Some(&line))));
            }
            CallNotice::Log(_) | CallNotice::SignIn(_) => {}
        }
    }

    /// Sends progress if the client gave a token, only if it increases, and at a limited rate.
    fn send_progress(&mut self, progress: &CallProgress) {
        let Some(token) = &self.token else { return };
        if !progress.progress.is_finite() || progress.progress <= self.last_progress || !self.rate.try_take()
        {
            return;
        }
        self.last_progress = progress.progress;
        let params = ProgressParams {
            progress_token: token,
            progress: progress.progress,
            total: progress.total.filter(|total| total.is_finite()),
            message: progress.message.as_deref(),
        };
        let progress = message::write_notification(method::PROGRESS, Some(&to_raw(&params)));
        let _ = self.out.try_send(JsonLine::from_json(progress));
    }

    async fn send_question(&mut self, question: SourceQuestion) {
        let SourceQuestion { method, params, answer } = question;
        let id = self.open_questions.add_question(&self.owner, answer, &*self.state.ids);
        let _ =
            self.out.send(JsonLine::from_json(message::write_request(&id, &method, params.as_deref()))).await;
    }

    /// Asks the client a question of the platform.
    pub(super) async fn ask_client(&mut self, method: &str, params: &RawValue) -> ClientQuestion {
        let (sender, answer) = oneshot::channel();
        let id = self.open_questions.add_question(&self.owner, sender, &*self.state.ids);
        let _ = self.out.send(JsonLine::from_json(message::write_request(&id, method, Some(params)))).await;
        ClientQuestion { id, answer }
    }

    /// Tells the client that a question needs no answer any more.
    pub(super) async fn withdraw_question(&self, id: &RawValue) {
        let params = json!({ "requestId": id, "reason": "the call no longer waits for this answer" });
        self.notify(method::CANCELLED, &to_raw(&params)).await;
    }

    /// Sends a notification of the platform.
    pub(super) async fn notify(&self, method: &str, params: &RawValue) {
        let _ = self.out.send(JsonLine::from_json(message::write_notification(method, Some(params)))).await;
    }

    /// Shows the client that the call still waits, so that its own timeout does not end it.
    pub(super) fn report_waiting(&mut self, text: &str) {
        let progress = if self.last_progress.is_finite() { self.last_progress + 1.0 } else { 0.0 };
        self.send_progress(&CallProgress { progress, total: None, message: Some(text.to_owned()) });
    }
}

/// A queue, if it is wanted.
fn optional_queue<T>(wanted: bool, depth: usize) -> (Option<mpsc::Sender<T>>, Option<mpsc::Receiver<T>>) {
    wanted.then(|| mpsc::channel(depth)).unzip()
}

async fn next_item<T>(queue: &mut Option<mpsc::Receiver<T>>) -> Option<T> {
    match queue {
        Some(queue) => queue.recv().await,
        None => None,
    }
}

/// Params of a progress notification. The token is passed on raw.
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

/// A token bucket for progress messages.
struct ProgressRate {
    left: u32,
    since: Instant,
}

impl ProgressRate {
    fn new() -> Self {
        Self { left: PROGRESS_BURST, since: Instant::now() }
    }

    fn try_take(&mut self) -> bool {
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
