//! Calls that the user has to approve: the question goes to the user through the client.
//!
//! A client that supports tasks gets a task. Others are asked as [`AskedClient`] says, and the call waits for the answer. If
//! the client cannot or does not ask, the question stays open, and the result is a text with the link.

use serde_json::{json, value::RawValue};
use tokio::time::{Duration, Instant, interval_at};
use toolyard_core::{
    CallReply,
    executor::{AwaitedApproval, CallOutcome},
};
use toolyard_protocol::{
    ApprovalId,
    mcp::{RpcError, method},
    raw::to_raw,
};

use super::{
    asked_client::AskedClient,
    call::CallRelay,
    client::McpClientContext,
    elicitation::{AskedApproval, ElicitationAnswer, ElicitationMode, QUESTION},
    params::RpcParams,
    reply::outcome_reply,
    request_state::SealedRequest,
    tasks,
};
use crate::{connections::StreamSlot, state::ServerState};

/// Longest wait of one modern request. Clients often end a request after a minute, and repeat one that has to come back
/// about ten times.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(50);
/// Interval at which a waiting call reports progress and checks its credential.
const WAIT_BEAT: Duration = Duration::from_secs(15);

/// Asks the user about one call, through its client.
pub(super) struct ApprovalDialog<'a> {
    pub(super) state: &'a ServerState,
    pub(super) client: &'a McpClientContext,
    /// The request of the call.
    pub(super) sealed: &'a SealedRequest<'a>,
    /// Whether the call has an idempotency key. Its result belongs to the key, so it is fetched by making the call again.
    pub(super) has_key: bool,
}

impl ApprovalDialog<'_> {
    /// Asks about a call that waits. Replies with its result, or with how to get it.
    pub(super) async fn ask(
        &self,
        awaited: &AwaitedApproval,
        relay: &mut CallRelay<'_>,
    ) -> Result<Box<RawValue>, RpcError> {
        // The result of a call with a key is fetched with the key.
        if self.client.has_tasks && !self.has_key {
            return tasks::create_task(self.state, self.client, awaited).await;
        }
        let Some(mode) = self.choose_mode(awaited) else { return self.link_reply(awaited) };
        if self.client.is_modern() {
            let asked = AskedApproval { id: awaited.id.clone(), mode, is_answered: false };
            let questions = mode.input_requests(QUESTION, awaited, self.client.revision);
            return self.approval_required(asked, Some(&questions));
        }
        match self.reserve_wait() {
            Some(_slot) => self.ask_session(awaited, mode, relay).await,
            None => self.link_reply(awaited),
        }
    }

    /// Continues a call after the client was asked.
    pub(super) async fn resume(
        &self,
        asked: AskedApproval,
        params: &RpcParams,
        relay: &mut CallRelay<'_>,
    ) -> Result<Box<RawValue>, RpcError> {
        let answer = ElicitationAnswer::from_responses(QUESTION, params.raw("inputResponses"));
        let is_answered = match answer {
            Some(answer) => self.asked_client().take_answer(&asked.id, asked.mode, answer).await,
            None => asked.is_answered,
        };
        let slot = if is_answered { self.reserve_wait() } else { None };
        let longest = self.state.config.approvals.mcp_wait().min(MAX_RETRY_WAIT);
        let wait = if slot.is_some() { longest } else { Duration::ZERO };
        match self.wait(&asked.id, wait, relay).await? {
            Some(Ok(CallReply::AwaitingApproval(_))) if slot.is_some() => {
                // The user has the page already, so the client is not asked again.
                self.approval_required(AskedApproval { is_answered, ..asked }, None)
            }
            Some(Ok(CallReply::AwaitingApproval(awaited))) if answer.is_none() && !is_answered => {
                self.ask(&awaited, relay).await
            }
            Some(outcome) => outcome_reply(&outcome, true),
            None => self.approval_required(AskedApproval { is_answered, ..asked }, None),
        }
    }

    /// The mode in which the client is asked, if it is.
    fn choose_mode(&self, awaited: &AwaitedApproval) -> Option<ElicitationMode> {
        if self.has_key { None } else { self.asked_client().choose_mode(awaited) }
    }

    fn asked_client(&self) -> AskedClient<'_> {
        AskedClient { state: self.state, client: self.client }
    }

    /// A waiting call holds no call permit, so it counts as a stream of the user.
    fn reserve_wait(&self) -> Option<StreamSlot> {
        self.state.process.streams.reserve(self.client.who.user.as_str()).ok()
    }

    /// Asks the client of a session on the stream of the call, and waits for the outcome meanwhile.
    async fn ask_session(
        &self,
        awaited: &AwaitedApproval,
        mode: ElicitationMode,
        relay: &mut CallRelay<'_>,
    ) -> Result<Box<RawValue>, RpcError> {
        let params = mode.question_params(awaited, self.client.revision);
        let (question, mut answer) = relay.ask_client(method::ELICIT, &params).await;
        let mut is_open = true;
        let outcome = {
            let ended = self.wait(&awaited.id, self.state.config.approvals.mcp_wait(), relay);
            tokio::pin!(ended);
            loop {
                tokio::select! {
                    biased;
                    outcome = &mut ended => break outcome?,
                    result = &mut answer, if is_open => {
                        is_open = false;
                        let answer = result.ok().and_then(Result::ok);
                        let answer = answer.and_then(|result| ElicitationAnswer::from_result(&result));
                        let answer = answer.unwrap_or(ElicitationAnswer::Refused);
                        if !self.asked_client().take_answer(&awaited.id, mode, answer).await {
                            return self.link_reply(awaited);
                        }
                    }
                }
            }
        };
        let outcome = outcome.unwrap_or_else(|| Ok(CallReply::AwaitingApproval(awaited.clone())));
        let is_waiting = matches!(outcome, Ok(CallReply::AwaitingApproval(_)));
        if mode == ElicitationMode::Url && !is_waiting {
            let params = to_raw(&json!({ "elicitationId": awaited.id }));
            relay.notify(method::ELICITATION_COMPLETE, &params).await;
        }
        if is_open {
            let params =
                json!({ "requestId": question, "reason": "the call no longer waits for this answer" });
            relay.notify(method::CANCELLED, &to_raw(&params)).await;
        }
        outcome_reply(&outcome, false)
    }

    /// Waits for the outcome of the approved call, at most this long. None if the server stops meanwhile.
    async fn wait(
        &self,
        id: &ApprovalId,
        wait: Duration,
        relay: &mut CallRelay<'_>,
    ) -> Result<Option<CallOutcome>, RpcError> {
        let who = &self.client.who;
        let ended = self.state.approvals.wait_for_outcome(id, &who.user, Instant::now() + wait);
        tokio::pin!(ended);
        let mut beat = interval_at(Instant::now() + WAIT_BEAT, WAIT_BEAT);
        loop {
            tokio::select! {
                biased;
                outcome = &mut ended => return outcome.map(Some).map_err(|error| {
                    tracing::error!(%error, approval = %id, "approval not read");
                    RpcError::internal_error()
                }),
                () = self.state.lifecycle.stopping.cancelled() => return Ok(None),
                _ = beat.tick() => {}
            }
            if who.lease.is_expired(&self.state.tokens, self.state.clock.now()) {
                return Err(RpcError::new(
                    RpcError::INVALID_REQUEST,
                    "the token of this request is no longer valid",
                ));
            }
            relay.report_waiting("Waiting for the user's approval");
        }
    }

    fn approval_required(
        &self,
        asked: AskedApproval,
        questions: Option<&RawValue>,
    ) -> Result<Box<RawValue>, RpcError> {
        self.sealed.approval_required_result(asked, questions, self.state.clock.now(), &*self.state.secrets)
    }

    /// The text with the link, for the model to pass on.
    fn link_reply(&self, awaited: &AwaitedApproval) -> Result<Box<RawValue>, RpcError> {
        outcome_reply(&Ok(CallReply::AwaitingApproval(awaited.clone())), self.client.is_modern())
    }
}
