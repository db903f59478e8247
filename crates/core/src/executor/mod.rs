//! The one way to run a tool. REST, MCP, sockets and the agent all end in [`Executor::call`].
//!
//! `run` is the life of a call, top to bottom, and may return early. `call` wraps it: it enforces the deadline, notices
//! when the caller disconnects, honours the idempotency key, and always leaves one record and one log line.

mod context;
mod forward;
mod keyed;
pub(crate) mod outcome;
mod record;
mod sign_in;
mod steps;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use tokio::{sync::broadcast, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_protocol::{ErrorCode, ToolName};

pub use self::context::{
    AwaitedApproval, AwaitedInput, CallContext, CallOwner, CallReply, Caller, CallerInput, DeliveryMark,
    Door, ToolCall, TraceContext,
};
pub use self::sign_in::{AwaitedSignIn, MAX_SIGN_INS};
use self::{
    keyed::KeyTable,
    steps::{CallStep, StepTimer},
};
use crate::{
    approvals::{ApprovalGate, CallClearance},
    catalog::{CallGauge, CallPermit, Tool},
    data_flow::InFlightLabels,
    error::ToolError,
    limits::CallLimits,
    live_value::LiveValue,
    policy::{PolicyDecision, ToolPolicy},
    ports::{CallRateLimiter, CallRecord, Clock, Ledger, SourceKind, SourceTable, ToolSource},
    redaction::{CallRedaction, CallSecretCounts, RedactedOutcome, SecretRedaction},
};

/// How many finished calls a slow subscriber may lag behind before it misses some.
const FEED_DEPTH: usize = 1_024;

/// The message of a cancelled call.
pub(crate) const CANCELLED_TEXT: &str =
    "The call was cancelled before the tool answered: the caller left, or the server stopped.";

/// The outcome of a call.
pub type CallOutcome = Result<CallReply, ToolError>;

/// Everything the executor needs.
pub struct ExecutorParts {
    /// The source of each kind.
    pub sources: Vec<(SourceKind, Arc<dyn ToolSource>)>,
    /// Tools that the operator denies.
    pub policy: LiveValue<ToolPolicy>,
    /// Rate limits.
    pub limiter: Arc<dyn CallRateLimiter>,
    /// Where calls are recorded.
    pub ledger: Arc<dyn Ledger>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Asks users before calls run.
    pub approvals: Arc<ApprovalGate>,
    /// Replaces secrets in results.
    pub redaction: Arc<SecretRedaction>,
    /// Limits of calls.
    pub limits: LiveValue<CallLimits>,
    /// Calls with a key outlive the request that started them; a server stop waits for these tasks.
    pub tasks: TaskTracker,
    /// Fires when a server stop waits no longer. It ends calls with a key; other calls have it in their context.
    pub cut_off: CancellationToken,
}

/// Runs tools.
pub struct Executor {
    sources: SourceTable,
    policy: LiveValue<ToolPolicy>,
    limiter: Arc<dyn CallRateLimiter>,
    ledger: Arc<dyn Ledger>,
    clock: Arc<dyn Clock>,
    pub(crate) approvals: Arc<ApprovalGate>,
    redaction: Arc<SecretRedaction>,
    pub(crate) limits: LiveValue<CallLimits>,
    tasks: TaskTracker,
    cut_off: CancellationToken,
    node: Arc<CallGauge>,
    keys: KeyTable,
    feed: broadcast::Sender<Arc<CallRecord>>,
}

impl Executor {
    /// Creates an executor from these parts.
    pub fn new(parts: ExecutorParts) -> Arc<Self> {
        Arc::new(Self {
            sources: SourceTable::new(parts.sources),
            policy: parts.policy,
            limiter: parts.limiter,
            ledger: parts.ledger,
            clock: parts.clock,
            approvals: parts.approvals,
            redaction: parts.redaction,
            limits: parts.limits,
            tasks: parts.tasks,
            cut_off: parts.cut_off,
            node: Arc::default(),
            keys: KeyTable::default(),
            feed: broadcast::channel(FEED_DEPTH).0,
        })
    }

    /// Subscribes to the records of calls that end from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<CallRecord>> {
        self.feed.subscribe()
    }

    /// Replaces secrets in results.
    pub fn redaction(&self) -> &SecretRedaction {
        &self.redaction
    }

    /// The number of calls in flight.
    pub fn in_flight(&self) -> usize {
        self.node.in_flight()
    }

    /// The number of keys with a call in flight on this node.
    pub fn keys_in_flight(&self) -> usize {
        self.keys.len()
    }

    /// The single entry point. Doors run it on a tracked task: when their client disconnects they fire `cx.cancel`, and
    /// the call is still recorded.
    pub async fn call(self: &Arc<Self>, cx: CallContext, call: ToolCall) -> CallOutcome {
        // The rare path is boxed to keep the common future small.
        if cx.key.is_some() {
            Box::pin(self.call_keyed(cx, call)).await
        } else {
            self.call_now(cx, call).await
        }
    }

    async fn call_now(&self, cx: CallContext, call: ToolCall) -> CallOutcome {
        self.call_recorded(cx, &call).await.into_read()
    }

    /// Runs a call and records it.
    pub(crate) async fn call_recorded(&self, cx: CallContext, call: &ToolCall) -> RedactedOutcome {
        let (outcome, record) = self.run_measured(cx, call).await;
        self.ledger.record_call(record).await;
        outcome
    }

    /// Runs a call with its deadline and cancellation, and returns the outcome with its record.
    async fn run_measured(&self, mut cx: CallContext, call: &ToolCall) -> (RedactedOutcome, Arc<CallRecord>) {
        let (started_at, mut steps) = (self.clock.now(), StepTimer::start());
        cx.deadline = self.call_deadline(&cx, call);
        let tool = cx.view.find_tool(&call.name).ok();
        let redaction = tool.and_then(|tool| self.redaction.for_tool(&cx, tool));
        if let Some(redaction) = &redaction {
            cx.redact_with(redaction);
        }
        // Released only after the labels of the result are recorded.
        let mut in_flight = None;
        let guarded =
            AssertUnwindSafe(self.run_redacted(&cx, call, redaction.as_ref(), &mut steps, &mut in_flight))
                .catch_unwind();
        let ended = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => None,
            ran = tokio::time::timeout_at(cx.deadline, guarded) => Some(ran),
        };
        let unchanged = |error| RedactedOutcome::unchanged(Err(error));
        let outcome = match ended {
            Some(Ok(Ok(outcome))) => outcome,
            Some(Ok(Err(_panic))) => unchanged(panic_error(call)),
            Some(Err(_elapsed)) => unchanged(timeout_error(&cx, call, &steps)),
            None => unchanged(ToolError::new(ErrorCode::Cancelled, CANCELLED_TEXT)),
        };
        self.record_labels(&cx, call, &outcome.stored).await;
        drop(in_flight);
        let record = record::build_record(
            &cx,
            call,
            &outcome.stored,
            started_at,
            &mut steps,
            self.limits.load().error_message_bytes,
        );
        let counts = redaction.map(|redaction| redaction.counts()).unwrap_or_default();
        self.publish_record(&record, &outcome.stored, counts);
        (outcome, record)
    }

    /// Runs a call, and replaces the secrets in its outcome before anything else sees it.
    async fn run_redacted(
        &self,
        cx: &CallContext,
        call: &ToolCall,
        redaction: Option<&Arc<CallRedaction>>,
        steps: &mut StepTimer,
        in_flight: &mut Option<InFlightLabels>,
    ) -> RedactedOutcome {
        let outcome = self.run(cx, call, redaction, steps, in_flight).await;
        let outcome = sign_in::await_sign_in(outcome, cx.approval.is_some());
        match redaction {
            Some(redaction) => redaction.redact_outcome(cx, outcome).await,
            None => RedactedOutcome::unchanged(outcome),
        }
    }

    /// The life of a call, top to bottom.
    async fn run(
        &self,
        cx: &CallContext,
        call: &ToolCall,
        redaction: Option<&Arc<CallRedaction>>,
        steps: &mut StepTimer,
        in_flight: &mut Option<InFlightLabels>,
    ) -> CallOutcome {
        let tool = cx.view.find_tool(&call.name)?;
        steps.enter(CallStep::Validate);
        let sent = call.arguments.as_deref();
        let restored = match redaction {
            Some(redaction) => redaction.restore_arguments(sent).await?,
            None => None,
        };
        let check_timeout = self.limits.load().check_timeout;
        let arguments = tool.validate_arguments(restored.as_deref().or(sent), check_timeout).await?;
        let arguments = arguments.with_shown(sent.filter(|_| restored.is_some()));
        steps.enter(CallStep::Authorize);
        let _permits = self.authorize(cx, tool).await?;
        let approval = match self.approvals.check(cx, tool, &arguments, check_timeout).await? {
            CallClearance::Run => None,
            CallClearance::RunApproved(id) => Some(id),
            CallClearance::Wait(awaited) => return Ok(CallReply::AwaitingApproval(awaited)),
            CallClearance::Ended(outcome) => return outcome,
        };
        let source = self.source_of(tool)?;
        steps.enter(CallStep::Ready);
        let ready = source.make_ready(cx, tool).await?;
        if let Some(id) = &approval {
            self.approvals.begin_run(id, &cx.id).await?;
        }
        *in_flight = self.approvals.data_flow().begin_call(cx, tool);
        steps.enter(CallStep::Invoke);
        let reply = ready.invoke(&arguments).await?;
        steps.enter(CallStep::Check);
        tool.check_output(reply, check_timeout).await
    }

    /// Notes what the outcome brings into the conversation.
    async fn record_labels(&self, cx: &CallContext, call: &ToolCall, outcome: &CallOutcome) {
        if let Ok(tool) = cx.view.find_tool(&call.name) {
            self.approvals.data_flow().record_outcome(cx, tool, outcome).await;
        }
    }

    /// Checks what the caller was granted, policy and rate limits, and acquires the in-flight permits.
    async fn authorize(&self, cx: &CallContext, tool: &Tool) -> Result<[CallPermit; 3], ToolError> {
        cx.view.check_access(tool)?;
        self.check_policy(tool)?;
        self.limiter.check_call(&cx.user, &tool.name).await.map_err(rate_limited_error)?;
        let limits = self.limits.load();
        Ok([
            self.node
                .try_acquire(limits.in_flight_node)
                .ok_or_else(|| overloaded_error("the platform", &tool.name))?,
            tool.app
                .gauge
                .try_acquire(limits.in_flight_app)
                .ok_or_else(|| overloaded_error("the app", &tool.name))?,
            cx.view
                .all
                .gauge
                .try_acquire(limits.in_flight_user)
                .ok_or_else(|| overloaded_error("this user", &tool.name))?,
        ])
    }

    /// Checks the operator's policy.
    fn check_policy(&self, tool: &Tool) -> Result<(), ToolError> {
        match self.policy.load().decide(&tool.name) {
            PolicyDecision::Allow => Ok(()),
            PolicyDecision::Deny => {
                let text = format!("The operator of this platform does not allow {}.", tool.name);
                Err(ToolError::new(ErrorCode::Denied, text))
            }
        }
    }

    fn source_of(&self, tool: &Tool) -> Result<&Arc<dyn ToolSource>, ToolError> {
        self.sources.get(tool.source).ok_or_else(|| {
            ToolError::new(ErrorCode::AppNotAvailable, format!("Nothing on this server runs {}.", tool.name))
        })
    }

    /// One deadline for wake and call: the app's own timeout, within the limits.
    fn call_deadline(&self, cx: &CallContext, call: &ToolCall) -> Instant {
        Instant::now() + self.call_timeout(cx.view.find_tool(&call.name).ok().map(|tool| &**tool))
    }

    /// How long a call may take: the app's own timeout, within the limits. Without a tool, the default.
    pub fn call_timeout(&self, tool: Option<&Tool>) -> Duration {
        self.limits.load().call_timeout_for(tool.and_then(|tool| tool.app.record.details.call_timeout_ms))
    }

    /// Logs the call, and sends its record to all subscribers.
    fn publish_record(&self, record: &Arc<CallRecord>, outcome: &CallOutcome, secrets: CallSecretCounts) {
        record::log_call(record, outcome.as_ref().err(), secrets);
        let _ = self.feed.send(record.clone());
    }
}

fn rate_limited_error(wait: Duration) -> ToolError {
    let seconds = wait.as_secs_f64().ceil().max(1.0);
    ToolError::new(
        ErrorCode::RateLimited,
        format!("Too many calls in a short time; try again in {seconds} s."),
    )
    .retry_after(wait)
}

fn overloaded_error(owner: &str, tool: &ToolName) -> ToolError {
    let text = format!("Too many calls are under way for {owner}, so {tool} did not run; try again shortly.");
    ToolError::new(ErrorCode::Overloaded, text)
}

fn timeout_error(cx: &CallContext, call: &ToolCall, steps: &StepTimer) -> ToolError {
    if cx.delivery.is_pending() {
        let text = format!(
            "There was no connection to the app of {} in time; nothing was sent, and the tool did not run.",
            call.name
        );
        ToolError::new(ErrorCode::NetworkError, text)
    } else if steps.may_have_run() {
        let harmless = cx.view.find_tool(&call.name).is_ok_and(|tool| tool.definition.is_harmless());
        let text = format!("{} did not answer in time; it may or may not have run.", call.name);
        ToolError::new(ErrorCode::Timeout, text).retryable_if(harmless)
    } else {
        let text = format!("The app of {} was not ready in time; the tool did not run.", call.name);
        ToolError::new(ErrorCode::AppNotAvailable, text).retryable_if(true)
    }
}

fn panic_error(call: &ToolCall) -> ToolError {
    ToolError::new(ErrorCode::ExecutionError, format!("The platform failed while running {}.", call.name))
        .with_cause("a source panicked")
}
