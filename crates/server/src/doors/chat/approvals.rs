//! Approvals in a chat: who can be asked there, and what becomes of calls that waited for an answer.
//!
//! The history comes from the client, so nothing in it is an authority: each approval is looked up by its id, must belong to
//! this caller, and must be for the same call. The stored call runs, never the one in the history.

use std::{sync::Arc, time::Duration};

use http::HeaderMap;
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;
use toolyard_agent::{
    event::{CallEnd, TurnEvent},
    turn::result_text,
};
use toolyard_core::{CallReply, CatalogView, Tool, ToolError, executor::CallOutcome, ports::ApprovalRecord};
use toolyard_platform::{ActorOfUser, PlatformError, approvals as verbs};
use toolyard_protocol::{
    ErrorCode, ToolRef,
    approval::{AnswerRequest, ApprovalAnswer, ApprovalState, ApprovalSurface, MAX_NOTE_BYTES},
    chat::{APPROVALS_HEADER, CallApproval, CallState, ChatCall, ChatMessage, ChatPart, ChatRole},
    text::truncate_bytes,
};

use crate::{approvals::find_own, auth::CallerContext, state::ServerState};

/// Approvals in one history that are looked up, the latest ones. The other calls count as waiting.
const MAX_LOOKUPS: usize = 64;
/// How much longer than the call itself its outcome may take.
const OUTCOME_GRACE: Duration = Duration::from_secs(2);
/// The result of a call whose approval is not looked up.
const STILL_WAITS: &str = "This call still waits for the user's approval.";
/// The result of a call that was approved and has not ended.
const STILL_RUNS: &str = "The user approved this call, and it still runs. Do not make it again; tell the user that it takes longer.";

/// Whether the headers say that the client shows approval requests. It has to say so: an older AI SDK fails at a chunk that it
/// does not know, and an app that does not show requests would leave the user without an answer.
pub(super) fn is_announced(headers: &HeaderMap) -> bool {
    headers.get(APPROVALS_HEADER).is_some_and(|value| matches!(value.as_bytes(), b"1" | b"true"))
}

/// Whether calls in the history wait for an approval.
pub(super) fn has_waiting_calls(messages: &[ChatMessage]) -> bool {
    let waits = |part: &ChatPart| matches!(part, ChatPart::Call(call) if call.approval.is_some());
    messages.iter().any(|message| message.parts.iter().any(waits))
}

/// Settles the calls of a history that waited for an approval.
pub(super) struct ApprovalSettler {
    pub(super) state: ServerState,
    pub(super) who: CallerContext,
    /// What the caller sees now.
    pub(super) view: CatalogView,
    /// The caller as one who answers. None if it may not.
    pub(super) answerer: Option<ActorOfUser>,
    /// Receives the ends of calls in the message that the response continues. None if the client does not know approvals.
    pub(super) events: Option<mpsc::Sender<TurnEvent>>,
    pub(super) cancel: CancellationToken,
}

/// A call whose approval was found and fits.
struct MatchedCall {
    record: ApprovalRecord,
    /// Until when its outcome is awaited.
    deadline: Instant,
}

impl ApprovalSettler {
    /// Stores the answers, waits for the outcomes, and writes them into the history.
    pub(super) async fn settle_calls(&self, messages: &mut [ChatMessage]) {
        let last = messages.len().saturating_sub(1);
        let mut waiting = Vec::new();
        for (index, message) in messages.iter_mut().enumerate() {
            // Only a continued message can get results. A new one does not have these calls.
            let is_continued = index == last && message.role == ChatRole::Assistant;
            let calls = message.parts.iter_mut().filter_map(|part| match part {
                ChatPart::Call(call) => call.approval.take().map(|approval| (call, approval)),
                _ => None,
            });
            waiting.extend(calls.map(|(call, approval)| (call, approval, is_continued)));
        }
        let recent = waiting.split_off(waiting.len().saturating_sub(MAX_LOOKUPS));
        for (call, _, _) in waiting {
            call.state = CallState::Failed(STILL_WAITS.to_owned());
        }
        // First all answers, so that the calls run at the same time.
        let mut matched = Vec::new();
        for (call, approval, is_continued) in recent {
            let found = self.match_call(call, &approval).await;
            matched.push((call, found, is_continued));
        }
        for (call, found, is_continued) in matched {
            let Some((outcome, state)) = self.wait_for_outcome(found).await else { return };
            let end = record_outcome(call, outcome, state);
            if let (Some(end), Some(events), true) = (end, &self.events, is_continued) {
                let _ = events.send(TurnEvent::CallEnds { id: call.id.clone(), end }).await;
            }
        }
    }

    /// Finds the approval of a call, checks that it is for this call, and stores the answer if there is none yet.
    async fn match_call(&self, call: &ChatCall, approval: &CallApproval) -> Result<MatchedCall, ToolError> {
        let refused = |why: &str| {
            let text = format!("This call did not run: {why}. Call the tool again if it is still needed.");
            ToolError::new(ErrorCode::Denied, text)
        };
        let unknown = || refused("there is no such approval");
        let id = approval.id.parse().map_err(|_| unknown())?;
        let record = find_own(&self.state, &self.who.user, &id).await?.ok_or_else(unknown)?;
        if record.owner != self.who.call_owner() {
            return Err(unknown());
        }
        let tool = self.find_tool(&call.name).ok_or_else(|| refused("its tool is no longer available"))?;
        if !self.state.approvals.is_same_call(&record, tool, &call.input) {
            return Err(refused("the approval is for another call, with another tool or other arguments"));
        }
        if record.state == ApprovalState::Expired {
            return Err(refused("nobody answered in time"));
        }
        let has_answered = match approval.approved {
            Some(approved) if record.state == ApprovalState::Pending => {
                self.store_answer(&record, approved, approval.reason.as_deref()).await?
            }
            _ => record.state != ApprovalState::Pending,
        };
        let wait = match has_answered {
            true => self.state.executor.call_timeout(Some(tool)) + OUTCOME_GRACE,
            false => Duration::ZERO,
        };
        Ok(MatchedCall { record, deadline: Instant::now() + wait })
    }

    fn find_tool(&self, name: &str) -> Option<&Tool> {
        let name: ToolRef = name.parse().ok()?;
        self.view.find_tool(&name).ok().map(|tool| &**tool)
    }

    /// Stores the user's answer. False if this caller may not answer. An earlier answer wins.
    async fn store_answer(
        &self,
        record: &ApprovalRecord,
        approved: bool,
        reason: Option<&str>,
    ) -> Result<bool, ToolError> {
        let Some(answerer) = &self.answerer else { return Ok(false) };
        let request = AnswerRequest {
            answer: if approved { ApprovalAnswer::Approve } else { ApprovalAnswer::Deny },
            remember: None,
            surface: Some(ApprovalSurface::Chat),
            note: reason.map(|reason| truncate_bytes(reason, MAX_NOTE_BYTES).into_owned()),
            arguments_digest: Some(hex::encode(record.subject.arguments)),
        };
        match verbs::answer(&self.state.platform, answerer, &record.id, request).await {
            Ok(_) | Err(PlatformError::Conflict(_)) => Ok(true),
            Err(PlatformError::Forbidden(_)) => Ok(false),
            Err(error) => Err(ToolError::new(
                ErrorCode::ExecutionError,
                format!("The user's answer could not be stored, so the call did not run: {error}"),
            )),
        }
    }

    /// The outcome, and the state of the approval. None if the turn is cancelled; the call runs all the same.
    async fn wait_for_outcome(
        &self,
        found: Result<MatchedCall, ToolError>,
    ) -> Option<(CallOutcome, Option<ApprovalState>)> {
        let MatchedCall { record, deadline } = match found {
            Ok(found) => found,
            Err(error) => return Some((Err(error), None)),
        };
        let gate = &self.state.approvals;
        let outcome = tokio::select! {
            outcome = gate.wait_for_outcome(&record.id, &self.who.user, deadline) => outcome,
            () = self.cancel.cancelled() => return None,
        };
        Some(match (outcome, find_own(&self.state, &self.who.user, &record.id).await) {
            (Ok(outcome), Ok(now)) => (outcome, now.map(|now| now.state)),
            (Err(error), _) | (_, Err(error)) => (Err(error.into()), None),
        })
    }
}

/// Writes an outcome into the history, and returns how the call ended. None if it still waits or runs.
fn record_outcome(
    call: &mut ChatCall,
    outcome: CallOutcome,
    state: Option<ApprovalState>,
) -> Option<CallEnd> {
    let (result, end) = match outcome {
        Ok(CallReply::Done(result)) => {
            let text = result_text::to_model_text(&result);
            let state = match result.mcp.is_error() {
                true => CallState::Failed(text),
                false => CallState::Done(text.into()),
            };
            (state, Some(CallEnd::Done(Arc::new(result))))
        }
        Ok(CallReply::AwaitingApproval(awaited)) => {
            let text = match state {
                Some(ApprovalState::Pending) => awaited.to_model_text(),
                _ => STILL_RUNS.to_owned(),
            };
            (CallState::Failed(text), None)
        }
        // An approved call does not wait for a sign-in.
        Ok(CallReply::AwaitingSignIn(_) | CallReply::AwaitingInput(_)) => {
            let error =
                ToolError::new(ErrorCode::Denied, "This tool asks for input that this chat cannot give.");
            (CallState::Failed(error.for_model.clone()), Some(CallEnd::Failed(Arc::new(error))))
        }
        Err(error) => {
            let failed = CallState::Failed(error.for_model.clone());
            let error = Arc::new(error);
            let is_no = state == Some(ApprovalState::Denied);
            (failed, Some(if is_no { CallEnd::Denied(error) } else { CallEnd::Failed(error) }))
        }
    };
    call.state = result;
    end
}
