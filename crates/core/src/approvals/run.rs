//! A call after its yes: redeeming the approval, running the stored call, and waiting for its outcome.

use std::sync::Arc;

use serde_json::Value;
use tokio::{sync::broadcast::error::RecvError, time::Instant};
use toolyard_protocol::{
    ApprovalId, CallId, ErrorCode, ToolRef, UserId,
    approval::{ApprovalState, ApprovalSummary},
};

use super::{
    ApprovalGate,
    digest::{ExactCall, have_digest},
    gate::CallClearance,
};
use crate::{
    Tool,
    error::ToolError,
    executor::{CallContext, CallOutcome, CallReply, Executor, ToolCall, outcome},
    ports::{ApprovalRecord, Change, StoreError},
};

impl ApprovalGate {
    /// Checks that the call is exactly the approved one.
    pub(super) async fn redeem(
        &self,
        id: &ApprovalId,
        cx: &CallContext,
        exact: &ExactCall,
    ) -> Result<CallClearance, ToolError> {
        let record = self.parts.approvals.find_approval(id).await?;
        let changed = match &record {
            Some(record) if record.state != ApprovalState::Approved => "was used before, or is not given",
            Some(record) if record.owner != cx.owner() => "belongs to another caller",
            Some(record) if record.subject.tool != exact.subject.tool => "is for another tool",
            Some(record) if record.subject.definition != exact.subject.definition => {
                "is for an earlier definition of the tool"
            }
            Some(record) if record.subject.arguments != exact.subject.arguments => "is for other arguments",
            Some(_) => return Ok(CallClearance::RunApproved(id.clone())),
            None => "does not exist",
        };
        let text = format!("{} did not run: the approval {changed}. Ask again.", exact.subject.tool);
        Err(ToolError::new(ErrorCode::Denied, text))
    }

    /// Begins the one run of an approval, right before the tool is invoked.
    pub(crate) async fn begin_run(&self, id: &ApprovalId, run: &CallId) -> Result<(), ToolError> {
        if self.parts.approvals.begin_run(id, run).await? {
            return Ok(());
        }
        Err(ToolError::new(ErrorCode::Conflict, "This approval was used before; it covers one call."))
    }

    /// The summary of an approval.
    pub fn summary_of(&self, record: &ApprovalRecord) -> ApprovalSummary {
        let text = self.parts.secrets.unseal(&record.summary).ok();
        let summary = text.and_then(|text| serde_json::from_str(&text).ok());
        summary.unwrap_or_else(|| ApprovalSummary {
            title: record.subject.tool.to_string(),
            app: record.subject.tool.package().to_string(),
            lines: Vec::new(),
            warning: Some("The details cannot be read with this root key.".to_owned()),
        })
    }

    /// Whether a call is the one that the user was asked about: the same tool and, with defaults, the same arguments.
    pub fn is_same_call(&self, record: &ApprovalRecord, tool: &Tool, arguments: &Value) -> bool {
        record.subject.tool == tool.name && have_digest(tool, arguments, &record.subject.arguments)
    }

    /// The call that was approved.
    pub fn approved_call(&self, record: &ApprovalRecord) -> Option<ToolCall> {
        let text = self.parts.secrets.unseal(record.arguments.as_deref()?).ok()?;
        let arguments = serde_json::value::RawValue::from_string(text).ok()?;
        Some(ToolCall { name: ToolRef::Canonical(record.subject.tool.clone()), arguments: Some(arguments) })
    }

    /// Waits until the approval and its call have ended, at most until `deadline`, and takes the outcome. Only its owner
    /// can wait for it. Still waiting is a reply as well.
    pub async fn wait_for_outcome(
        &self,
        id: &ApprovalId,
        user: &UserId,
        deadline: Instant,
    ) -> Result<CallOutcome, StoreError> {
        let mut changes = self.subscribe();
        loop {
            let record = self.parts.approvals.find_approval(id).await?;
            let Some(record) = record.filter(|record| record.owner.user == *user) else {
                let text = "There is no such approval.";
                return Ok(Err(ToolError::new(ErrorCode::InvalidRequest, text)));
            };
            if record.state.is_final() {
                self.parts.approvals.mark_delivered(id).await?;
                return Ok(outcome::of_approval(&record));
            }
            let is_over = loop {
                tokio::select! {
                    // First, so that many changes of other approvals cannot delay it.
                    biased;
                    () = tokio::time::sleep_until(deadline) => break true,
                    change = changes.recv() => match change {
                        Ok(changed) if changed != *id => {}
                        Ok(_) | Err(RecvError::Lagged(_)) => break false,
                        Err(RecvError::Closed) => break true,
                    },
                }
            };
            if is_over {
                return Ok(Ok(CallReply::AwaitingApproval(self.awaited_approval(&record))));
            }
        }
    }

    /// Stores how the approved call ended, and announces it.
    async fn finish(&self, record: &ApprovalRecord, run: &CallId, outcome: &CallOutcome, max_bytes: usize) {
        let began = match self.parts.approvals.find_approval(&record.id).await {
            Ok(Some(now)) if now.state == ApprovalState::Approved => false,
            Ok(Some(now)) if now.run.as_ref() == Some(run) => true,
            // Another task runs it, or ran it.
            Ok(_) => return,
            Err(_) => true,
        };
        let state = match outcome {
            _ if began => ApprovalState::Done,
            // It did not run, and the next sweep tries again, as long as the approval is valid.
            Err(error) if can_run_later(error.code) && record.expires_at > self.parts.clock.now() => return,
            Err(error) if is_void(error.code) => ApprovalState::Void,
            _ => ApprovalState::Done,
        };
        let stored = outcome::encode(outcome).filter(|text| text.len() <= max_bytes);
        if let Err(error) = self.parts.approvals.end_approval(&record.id, state, stored).await {
            tracing::error!(%error, approval = %record.id, "outcome of an approved call not stored");
        }
        let (user, id) = (record.owner.user.clone(), record.id.clone());
        self.parts.announcements.notify(&Change::ApprovalEnded { user, id });
    }
}

/// Whether the call may run at another time.
fn can_run_later(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::Overloaded | ErrorCode::RateLimited | ErrorCode::Cancelled)
}

/// Whether the call can no longer run as it was approved.
fn is_void(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::ToolNotFound
            | ErrorCode::InvalidArguments
            | ErrorCode::InvalidToolName
            | ErrorCode::Denied
            | ErrorCode::Conflict
    )
}

impl Executor {
    /// Ends an approved call that cannot be started, unless it can run later.
    pub async fn refuse_approved(&self, record: &ApprovalRecord, error: ToolError) {
        // No call ran under this id, so the approval counts as not begun.
        self.approvals.finish(record, &record.call, &Err(error), self.limits.load().key_outcome_bytes).await;
    }

    /// Runs an approved call, once.
    pub async fn run_approved(self: &Arc<Self>, mut cx: CallContext, record: &ApprovalRecord) -> CallOutcome {
        let run = cx.id.clone();
        let outcome = match self.approvals.approved_call(record) {
            Some(call) => {
                cx.approval = Some(record.id.clone());
                Box::pin(self.call_recorded(cx, &call)).await.stored
            }
            None => {
                let text = "The approved call cannot be read with this root key; it did not run.";
                Err(ToolError::new(ErrorCode::Denied, text))
            }
        };
        self.approvals.finish(record, &run, &outcome, self.limits.load().key_outcome_bytes).await;
        outcome
    }
}
