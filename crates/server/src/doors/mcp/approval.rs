//! Calls that the user has to approve: the question goes to the user through the client.
//!
//! A client that supports tasks gets a task. Others are asked as [`AskedClient`] says, and the call waits for the answer. If
//! the client cannot or does not ask, the question stays open, and the result is a text with the link.

use serde_json::{json, value::RawValue};
use tokio::time::{Duration, Instant};
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
    request_state::{AskedUser, SealedRequest},
    tasks,
    waiting::{AskedWait, WaitingClient},
};
use crate::state::ServerState;

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
        match self.waiting().reserve_wait() {
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
        let slot = if is_answered { self.waiting().reserve_wait() } else { None };
        let wait = if slot.is_some() { self.waiting().longest_wait() } else { Duration::ZERO };
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

    /// Asks the client of a session on the stream of the call, and waits for the outcome meanwhile.
    async fn ask_session(
        &self,
        awaited: &AwaitedApproval,
        mode: ElicitationMode,
        relay: &mut CallRelay<'_>,
    ) -> Result<Box<RawValue>, RpcError> {
        let params = mode.question_params(awaited, self.client.revision);
        let question = relay.ask_client(method::ELICIT, &params).await;
        let asked = self.asked_client();
        let ended = self.wait(&awaited.id, self.waiting().longest_wait(), relay);
        let ended = question.answered_during(ended, |answer| asked.take_answer(&awaited.id, mode, answer));
        let AskedWait::Over { over: outcome, unanswered } = ended.await? else {
            return self.link_reply(awaited);
        };
        let outcome = outcome.unwrap_or_else(|| Ok(CallReply::AwaitingApproval(awaited.clone())));
        let is_waiting = matches!(outcome, Ok(CallReply::AwaitingApproval(_)));
        if mode == ElicitationMode::Url && !is_waiting {
            let params = to_raw(&json!({ "elicitationId": awaited.id }));
            relay.notify(method::ELICITATION_COMPLETE, &params).await;
        }
        if let Some(question) = unanswered {
            relay.withdraw_question(&question).await;
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
        let user = &self.client.who.user;
        let ended = self.state.approvals.wait_for_outcome(id, user, Instant::now() + wait);
        let ended = self.waiting().wait_for(ended, "Waiting for the user's approval", relay).await?;
        ended.transpose().map_err(|error| {
            tracing::error!(%error, approval = %id, "approval not read");
            RpcError::internal_error()
        })
    }

    fn waiting(&self) -> WaitingClient<'_> {
        WaitingClient { state: self.state, client: self.client }
    }

    fn approval_required(
        &self,
        asked: AskedApproval,
        questions: Option<&RawValue>,
    ) -> Result<Box<RawValue>, RpcError> {
        let (now, secrets) = (self.state.clock.now(), &*self.state.secrets);
        self.sealed.user_required_result(AskedUser::Approval(asked), questions, now, secrets)
    }

    /// The text with the link, for the model to pass on.
    fn link_reply(&self, awaited: &AwaitedApproval) -> Result<Box<RawValue>, RpcError> {
        outcome_reply(&Ok(CallReply::AwaitingApproval(awaited.clone())), self.client.is_modern())
    }
}
