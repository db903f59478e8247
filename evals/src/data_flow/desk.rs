//! An executor with its approval gate, and tools that only say that they ran.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_core::{
    CallContext, CallReply, Caller, Catalog, Door, Executor, LiveValue, Tool, ToolCall, ToolError,
    approvals::{ApprovalGate, ApprovalGateParts, ApprovalPolicy, ApprovalSettings, PolicyPreset},
    catalog::{BuiltinPackage, CatalogPorts, ViewLimits, ViewScope},
    data_flow::LabelSettings,
    executor::{CallOutcome, DeliveryMark, ExecutorParts, TraceContext},
    pinning::PinPolicy,
    policy::ToolPolicy,
    ports::{
        AnswerOutcome, ApprovalStore, CallRateLimiter, CallerAbilities, Clock, IdGenerator as _, NoticeSink,
        ReadyTool, SealError, SecretSealer, SessionView, SourceKind, StoredAnswer, Stores, SystemIds,
        ToolSource, UnsealError, UserPresence,
    },
    redaction::{RedactionSettings, SecretRedaction},
    schema::ValidArguments,
};
use toolyard_protocol::{
    PackageName, ToolName, ToolRef, UserId,
    app::AppDetails,
    approval::{ApprovalAnswer, ApprovalSurface, RememberScope},
    raw::to_raw,
    result::{McpResult, ResultExtensions, ToolResult},
};

use super::CallSuite;

/// Why a replay cannot be set up, or a call of it failed unexpectedly.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DeskError(String);

impl DeskError {
    fn new(why: impl std::fmt::Display) -> Self {
        Self(why.to_string())
    }
}

/// How a replayed call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayedCall {
    /// It ran without a question.
    Ran,
    /// It was asked about.
    Asked,
    /// It was refused.
    Refused,
}

/// An executor for the tools of one suite.
pub struct ReplayDesk {
    executor: Arc<Executor>,
    catalog: Arc<Catalog>,
    approvals: Arc<dyn ApprovalStore>,
    clock: Arc<dyn Clock>,
    package: PackageName,
}

impl ReplayDesk {
    /// Sets up the executor. Only the labels decide: no other rule asks.
    pub async fn open(
        stores: &Stores,
        clock: Arc<dyn Clock>,
        package: &str,
        suite: &CallSuite,
        settings: LabelSettings,
    ) -> Result<Self, DeskError> {
        let package: PackageName = package.parse().map_err(DeskError::new)?;
        let definitions = suite.tools.iter().map(|tool| {
            to_raw(&json!({ "name": tool.name, "description": tool.description,
                "inputSchema": { "type": "object", "properties": tool.properties } }))
        });
        let builtin = BuiltinPackage::new(package.clone(), AppDetails::default(), definitions.collect());
        let ports = CatalogPorts {
            stores: stores.clone(),
            presence: Arc::new(NobodyPresent),
            plugins: None,
            builtin: Some(builtin),
            pinning: PinPolicy::default(),
        };
        let gate = ApprovalGateParts {
            approvals: stores.approvals.clone(),
            rules: stores.approval_rules.clone(),
            announcements: stores.announcements.clone(),
            clock: clock.clone(),
            ids: Arc::new(SystemIds),
            secrets: Arc::new(PlainSealer),
            labels: stores.labels.clone(),
            policy: ApprovalPolicy { preset: PolicyPreset::Open, rules: Vec::new() }.into(),
            data_flow: settings,
            settings: LiveValue::<ApprovalSettings>::default(),
        };
        let executor = Executor::new(ExecutorParts {
            sources: vec![(SourceKind::Builtin, Arc::new(EmptyTools) as _)],
            policy: LiveValue::<ToolPolicy>::default(),
            limiter: Arc::new(NoRateLimit),
            ledger: stores.ledger.clone(),
            clock: clock.clone(),
            approvals: ApprovalGate::start(gate).await.map_err(DeskError::new)?,
            redaction: SecretRedaction::new(RedactionSettings::default(), clock.clone(), Arc::new(SystemIds)),
            limits: LiveValue::default(),
            tasks: TaskTracker::new(),
            cut_off: CancellationToken::new(),
        });
        let catalog = Catalog::new(ports, ViewLimits::default());
        Ok(Self { executor, catalog, approvals: stores.approvals.clone(), clock, package })
    }

    /// Makes a call in a conversation. `text` is what the user wrote in it.
    pub async fn call(
        &self,
        user: &UserId,
        conversation: &str,
        text: &str,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<CallOutcome, DeskError> {
        let name = ToolName::new(&self.package, &tool.parse().map_err(DeskError::new)?);
        let call = ToolCall { name: ToolRef::Canonical(name), arguments: Some(to_raw(arguments)) };
        let cx = self.context(user, conversation, text).await?;
        Ok(self.executor.call(cx, call).await)
    }

    /// What happened to the call. With `answers_yes`, a question is answered and the call runs.
    pub async fn settle(
        &self,
        user: &UserId,
        conversation: &str,
        outcome: CallOutcome,
        answers_yes: bool,
    ) -> Result<ReplayedCall, DeskError> {
        let awaited = match outcome {
            Ok(CallReply::Done(_)) => return Ok(ReplayedCall::Ran),
            Ok(CallReply::AwaitingApproval(awaited)) => awaited,
            Ok(CallReply::AwaitingInput(_) | CallReply::AwaitingSignIn(_)) => {
                return Err(DeskError::new("a tool asked for more than an approval"));
            }
            Err(error) if error.code == toolyard_protocol::ErrorCode::Denied => {
                return Ok(ReplayedCall::Refused);
            }
            Err(error) => return Err(DeskError::new(error.for_model)),
        };
        if answers_yes {
            let answer = StoredAnswer {
                answer: ApprovalAnswer::Approve,
                by: user.to_string(),
                surface: ApprovalSurface::Api,
                at: self.clock.now(),
                remember: RememberScope::Once,
                note: None,
            };
            let answered = self.approvals.answer_approval(&awaited.id, user, &answer, None).await;
            let AnswerOutcome::Answered(record) = answered.map_err(DeskError::new)? else {
                return Err(DeskError::new("the question could not be answered"));
            };
            let cx = self.context(user, conversation, "").await?;
            let ran = self.executor.run_approved(cx, &record).await;
            ran.map_err(|error| DeskError::new(error.for_model))?;
        }
        Ok(ReplayedCall::Asked)
    }

    async fn context(&self, user: &UserId, conversation: &str, text: &str) -> Result<CallContext, DeskError> {
        let view = self.catalog.view(user, ViewScope::Everything).await.map_err(DeskError::new)?;
        Ok(CallContext {
            id: SystemIds.new_call_id(self.clock.now()),
            user: user.clone(),
            caller: Caller::User,
            door: Door::Chat,
            view,
            cancel: CancellationToken::new(),
            notices: NoticeSink::default(),
            abilities: CallerAbilities::default(),
            input: None,
            trace: TraceContext::new(None, || 1, 1),
            baggage: Vec::new(),
            key: None,
            client: None,
            conversation: Some(conversation.into()),
            session: None,
            user_text: Some(text.to_lowercase().into()),
            approval: None,
            deadline: tokio::time::Instant::now(),
            delivery: DeliveryMark::default(),
        })
    }
}

/// Tools that do nothing.
struct EmptyTools;
struct EmptyTool;

#[async_trait]
impl ToolSource for EmptyTools {
    async fn make_ready<'a>(
        &'a self,
        _cx: &'a CallContext,
        _tool: &'a Tool,
    ) -> Result<Box<dyn ReadyTool + 'a>, ToolError> {
        Ok(Box::new(EmptyTool))
    }
}

#[async_trait]
impl ReadyTool for EmptyTool {
    async fn invoke(self: Box<Self>, _arguments: &ValidArguments) -> Result<CallReply, ToolError> {
        let extensions = ResultExtensions::default();
        Ok(CallReply::Done(ToolResult { mcp: McpResult::from_text("done"), extensions }))
    }
}

struct NobodyPresent;

#[async_trait]
impl UserPresence for NobodyPresent {
    async fn session_view(&self, _user: &UserId) -> Option<SessionView> {
        None
    }
}

struct NoRateLimit;

#[async_trait]
impl CallRateLimiter for NoRateLimit {
    async fn check_call(&self, _user: &UserId, _tool: &ToolName) -> Result<(), Duration> {
        Ok(())
    }
}

/// Nothing here is secret, and the store is removed afterwards.
struct PlainSealer;

impl SecretSealer for PlainSealer {
    fn seal(&self, plain: &str) -> Result<Vec<u8>, SealError> {
        Ok(plain.as_bytes().to_vec())
    }

    fn unseal(&self, sealed: &[u8]) -> Result<String, UnsealError> {
        String::from_utf8(sealed.to_vec()).map_err(|_| UnsealError)
    }

    fn derive_keys(&self, _purpose: &str) -> Vec<[u8; 32]> {
        vec![[0; 32]]
    }
}
