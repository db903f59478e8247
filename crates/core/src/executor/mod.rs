//! The one way to run a tool. REST, MCP, sockets and the agent all end in [`Executor::call`].
//!
//! `run` is the life of a call, top to bottom, and may return early at will; `call` around it keeps the time, hears the
//! caller leave, honours the caller's key, and leaves one record and one log line whatever happened.

mod context;
mod keyed;
mod pass_on;
mod record;
mod steps;

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;
use tokio::{sync::broadcast, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_protocol::{ErrorCode, ToolName};

pub use self::context::{
    Awaited, CallContext, CallOwner, Caller, DeliveryMark, Door, Input, Reply, ToolCall, TraceContext,
};
use self::{
    keyed::KeyTable,
    steps::{Step, Steps},
};
use crate::{
    catalog::{Gauge, Permit, Tool},
    error::ToolError,
    limits::CallLimits,
    policy::{Decision, Policy},
    ports::{CallRecord, Clock, Ledger, Limiter, SourceKind, Sources, ToolSource},
    schema::ValidArguments,
};

/// How many finished calls a slow watcher may lag behind before it misses some.
const FEED_DEPTH: usize = 1_024;

/// The message of a cancelled call.
pub(crate) const CANCELLED_TEXT: &str =
    "The call was cancelled before the tool answered: the caller left, or the server stopped.";

/// What a call comes to.
pub type Outcome = Result<Reply, ToolError>;

/// Everything the executor needs.
pub struct ExecutorParts {
    /// What runs the tools of each kind.
    pub sources: Vec<(SourceKind, Arc<dyn ToolSource>)>,
    /// What the operator does not allow.
    pub policy: Policy,
    /// Rate limits.
    pub limiter: Arc<dyn Limiter>,
    /// Where calls are recorded.
    pub ledger: Arc<dyn Ledger>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Every bound.
    pub limits: CallLimits,
    /// Calls under a key outlive the request that began them; a stop waits for them here.
    pub tasks: TaskTracker,
    /// Fires when a stop waits no longer. Calls under a key end with it; others have it in their context.
    pub cut_off: CancellationToken,
}

/// Runs tools.
pub struct Executor {
    sources: Sources,
    policy: Policy,
    limiter: Arc<dyn Limiter>,
    ledger: Arc<dyn Ledger>,
    clock: Arc<dyn Clock>,
    limits: CallLimits,
    tasks: TaskTracker,
    cut_off: CancellationToken,
    node: Arc<Gauge>,
    keys: KeyTable,
    feed: broadcast::Sender<Arc<CallRecord>>,
}

impl Executor {
    /// An executor of these parts.
    pub fn new(parts: ExecutorParts) -> Arc<Self> {
        Arc::new(Self {
            sources: Sources::new(parts.sources),
            policy: parts.policy,
            limiter: parts.limiter,
            ledger: parts.ledger,
            clock: parts.clock,
            limits: parts.limits,
            tasks: parts.tasks,
            cut_off: parts.cut_off,
            node: Arc::default(),
            keys: KeyTable::default(),
            feed: broadcast::channel(FEED_DEPTH).0,
        })
    }

    /// Every call that ends from now on.
    pub fn watch(&self) -> broadcast::Receiver<Arc<CallRecord>> {
        self.feed.subscribe()
    }

    /// How many calls are under way.
    pub fn in_flight(&self) -> usize {
        self.node.now()
    }

    /// How many keys have a call under way here.
    pub fn keys_in_flight(&self) -> usize {
        self.keys.len()
    }

    /// The single door. Doors run it on a tracked task: when their client leaves they fire `cx.cancel`, and the call is
    /// still recorded.
    pub async fn call(self: &Arc<Self>, cx: CallContext, call: ToolCall) -> Outcome {
        // The rare way is boxed, so that the common one is not as large as both together.
        if cx.key.is_some() {
            Box::pin(self.call_once(cx, call)).await
        } else {
            self.call_now(cx, call).await
        }
    }

    async fn call_now(&self, cx: CallContext, call: ToolCall) -> Outcome {
        let (outcome, record) = self.measured(cx, &call).await;
        self.ledger.record(record).await;
        outcome
    }

    /// Runs a call with its deadline and its caller in mind, and says what happened.
    async fn measured(&self, mut cx: CallContext, call: &ToolCall) -> (Outcome, Arc<CallRecord>) {
        let (started_at, mut steps) = (self.clock.now(), Steps::start());
        cx.deadline = self.deadline(&cx, call);
        let guarded = AssertUnwindSafe(self.run(&cx, call, &mut steps)).catch_unwind();
        let ended = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => None,
            ran = tokio::time::timeout_at(cx.deadline, guarded) => Some(ran),
        };
        let outcome = match ended {
            Some(Ok(Ok(outcome))) => outcome,
            Some(Ok(Err(_panic))) => Err(panicked(call)),
            Some(Err(_elapsed)) => Err(too_late(&cx, call, &steps)),
            None => Err(ToolError::new(ErrorCode::Cancelled, CANCELLED_TEXT)),
        };
        let record = record::of(&cx, call, &outcome, started_at, &mut steps, self.limits.error_message_bytes);
        self.tell(&record, &outcome);
        (outcome, record)
    }

    /// The life of a call, top to bottom.
    async fn run(&self, cx: &CallContext, call: &ToolCall, steps: &mut Steps) -> Outcome {
        let tool = cx.view.find(&call.name)?;
        steps.enter(Step::Validate);
        let arguments = tool.validate(call.arguments.as_deref(), self.limits.check_timeout).await?;
        steps.enter(Step::Authorize);
        let _places = self.authorize(cx, tool, &arguments)?;
        let source = self.source_of(tool)?;
        steps.enter(Step::Ready);
        let ready = source.make_ready(cx, tool).await?;
        steps.enter(Step::Invoke);
        let reply = ready.invoke(&arguments).await?;
        steps.enter(Step::Check);
        tool.check_output(reply, self.limits.check_timeout).await
    }

    /// Policy, rates, and a place among the calls under way.
    fn authorize(
        &self,
        cx: &CallContext,
        tool: &Tool,
        _arguments: &ValidArguments,
    ) -> Result<[Permit; 3], ToolError> {
        self.permit(tool)?;
        self.limiter.check(&cx.user, &tool.name).map_err(too_many)?;
        let limits = &self.limits;
        Ok([
            self.node.enter(limits.in_flight_node).ok_or_else(|| overloaded("the platform", &tool.name))?,
            tool.app.gauge.enter(limits.in_flight_app).ok_or_else(|| overloaded("the app", &tool.name))?,
            cx.view
                .all
                .gauge
                .enter(limits.in_flight_user)
                .ok_or_else(|| overloaded("this user", &tool.name))?,
        ])
    }

    /// What the operator allows.
    fn permit(&self, tool: &Tool) -> Result<(), ToolError> {
        match self.policy.decide(&tool.name) {
            Decision::Allow => Ok(()),
            Decision::Deny => {
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

    /// One budget over wake and call, as the app asks for it within the bounds.
    fn deadline(&self, cx: &CallContext, call: &ToolCall) -> Instant {
        let wish = cx.view.find(&call.name).ok().and_then(|tool| tool.app.record.details.call_timeout_ms);
        Instant::now() + self.limits.call_timeout_for(wish)
    }

    /// The one log line of a call, and the news for whoever watches.
    fn tell(&self, record: &Arc<CallRecord>, outcome: &Outcome) {
        record::log(record, outcome.as_ref().err());
        let _ = self.feed.send(record.clone());
    }
}

fn too_many(wait: std::time::Duration) -> ToolError {
    let seconds = wait.as_secs_f64().ceil().max(1.0);
    ToolError::new(
        ErrorCode::RateLimited,
        format!("Too many calls in a short time; try again in {seconds} s."),
    )
    .retry_after(wait)
}

fn overloaded(whose: &str, tool: &ToolName) -> ToolError {
    let text = format!("Too many calls are under way for {whose}, so {tool} did not run; try again shortly.");
    ToolError::new(ErrorCode::Overloaded, text)
}

fn too_late(cx: &CallContext, call: &ToolCall, steps: &Steps) -> ToolError {
    if cx.delivery.is_pending() {
        let text = format!(
            "There was no connection to the app of {} in time; nothing was sent, and the tool did not run.",
            call.name
        );
        ToolError::new(ErrorCode::NetworkError, text)
    } else if steps.may_have_run() {
        let harmless = cx.view.find(&call.name).is_ok_and(|tool| tool.definition.is_harmless());
        let text = format!("{} did not answer in time; it may or may not have run.", call.name);
        ToolError::new(ErrorCode::Timeout, text).retryable_if(harmless)
    } else {
        let text = format!("The app of {} was not ready in time; the tool did not run.", call.name);
        ToolError::new(ErrorCode::AppNotAvailable, text).retryable_if(true)
    }
}

fn panicked(call: &ToolCall) -> ToolError {
    ToolError::new(ErrorCode::ExecutionError, format!("The platform failed while running {}.", call.name))
        .because("a source panicked")
}
