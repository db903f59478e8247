//! Calls that wait until the user has signed in at an upstream: the client is asked to open the page for that, and the call is
//! repeated after the sign-in.
//!
//! A client that cannot open pages gets a text with the link, for its model to pass on.

use std::future::ready;

use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};
use tokio::time::Instant;
use toolyard_core::{CallReply, ToolError, executor::AwaitedSignIn};
use toolyard_protocol::{
    ErrorCode, PackageName,
    mcp::{RpcError, method},
    raw::to_raw,
};

use super::{
    call::CallRelay,
    client::McpClientContext,
    elicitation::{self, ElicitationAnswer, ElicitationMode},
    params::RpcParams,
    reply::outcome_reply,
    request_state::{AskedUser, SealedRequest},
    waiting::{AskedWait, WaitingClient},
};
use crate::state::ServerState;

/// The key of the question in the `inputRequests` of a request.
const QUESTION: &str = "sign-in";
/// What the client shows while the request waits.
const WAITING_TEXT: &str = "Waiting for the user to sign in";

/// A sign-in that a modern client was asked for. Part of the sealed state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AskedSignIn {
    awaited: AwaitedSignIn,
    /// Whether the client has opened the page.
    is_answered: bool,
}

/// How a request continues.
pub(super) enum SignInStep {
    /// The request is sent to its upstream, for the first time or again.
    Run,
    /// The client gets this.
    Reply(Box<RawValue>),
    /// The client cannot be asked, or did not ask the user.
    NotAsked(AwaitedSignIn),
}

/// Asks the user to sign in, through the client of a request.
pub(super) struct SignInDialog<'a> {
    pub(super) state: &'a ServerState,
    pub(super) client: &'a McpClientContext,
    /// The request that waits.
    pub(super) sealed: &'a SealedRequest<'a>,
}

impl SignInDialog<'_> {
    /// Asks the client to open the page. The client of a session stays connected meanwhile; a modern one comes back.
    pub(super) async fn ask(
        &self,
        awaited: &AwaitedSignIn,
        relay: &mut CallRelay<'_>,
    ) -> Result<SignInStep, RpcError> {
        let can_open = ElicitationMode::Url.is_supported(self.client);
        if !can_open || self.waiting().longest_wait().is_zero() {
            return Ok(SignInStep::NotAsked(awaited.clone()));
        }
        let params = elicitation::page_params(
            &awaited.to_user_text(),
            &awaited.url,
            &self.new_id(),
            self.client.revision,
        );
        if self.client.is_modern() {
            let questions = to_raw(&json!({ QUESTION: { "method": method::ELICIT, "params": params } }));
            let asked = AskedSignIn { awaited: awaited.clone(), is_answered: false };
            return self.come_back(asked, Some(&questions));
        }
        match self.waiting().reserve_wait() {
            Some(_slot) => self.ask_session(awaited, &params, relay).await,
            None => Ok(SignInStep::NotAsked(awaited.clone())),
        }
    }

    /// Continues a request of a modern client after it was asked.
    pub(super) async fn resume(
        &self,
        asked: AskedSignIn,
        params: &RpcParams,
        relay: &mut CallRelay<'_>,
    ) -> Result<SignInStep, RpcError> {
        let is_open = match ElicitationAnswer::from_responses(QUESTION, params.raw("inputResponses")) {
            Some(ElicitationAnswer::Accepted(_)) => true,
            Some(ElicitationAnswer::Refused) => return Ok(SignInStep::NotAsked(asked.awaited)),
            None => asked.is_answered,
        };
        // Without an answer the request is made, and asks again if it still has to.
        let slot = if is_open { self.waiting().reserve_wait() } else { None };
        if slot.is_none() {
            return Ok(SignInStep::Run);
        }
        match self.wait(&asked.awaited.package, relay).await? {
            Some(true) => Ok(SignInStep::Run),
            // The user has the page already, so the client is not asked again.
            Some(false) | None => self.come_back(AskedSignIn { is_answered: true, ..asked }, None),
        }
    }

    /// Asks the client of a session, and waits for the sign-in.
    async fn ask_session(
        &self,
        awaited: &AwaitedSignIn,
        params: &RawValue,
        relay: &mut CallRelay<'_>,
    ) -> Result<SignInStep, RpcError> {
        let question = relay.ask_client(method::ELICIT, params).await;
        let signed_in = self.wait(&awaited.package, relay);
        let is_open = |answer| ready(matches!(answer, ElicitationAnswer::Accepted(_)));
        let (signed_in, unanswered) = match question.answered_during(signed_in, is_open).await? {
            AskedWait::Over { over, unanswered } => (over == Some(true), unanswered),
            AskedWait::Refused => (false, None),
        };
        if signed_in {
            relay.notify(method::ELICITATION_COMPLETE, &elicitation::page_complete(params)).await;
        }
        if let Some(question) = unanswered {
            relay.withdraw_question(&question).await;
        }
        Ok(if signed_in { SignInStep::Run } else { SignInStep::NotAsked(awaited.clone()) })
    }

    /// Waits for the sign-in. None if the server stops meanwhile.
    async fn wait(&self, package: &PackageName, relay: &mut CallRelay<'_>) -> Result<Option<bool>, RpcError> {
        let deadline = Instant::now() + self.waiting().longest_wait();
        let user = &self.client.who.user;
        let signed_in = self.state.upstreams.wait_for_authorization(package, user, deadline);
        let signed_in = self.waiting().wait_for(signed_in, WAITING_TEXT, relay).await?;
        signed_in.transpose().map_err(|error| {
            tracing::error!(%error, upstream = %package, "authorization not read");
            RpcError::internal_error()
        })
    }

    fn waiting(&self) -> WaitingClient<'_> {
        WaitingClient { state: self.state, client: self.client }
    }

    fn come_back(&self, asked: AskedSignIn, questions: Option<&RawValue>) -> Result<SignInStep, RpcError> {
        let (now, secrets) = (self.state.clock.now(), &*self.state.secrets);
        let reply = self.sealed.user_required_result(AskedUser::SignIn(asked), questions, now, secrets)?;
        Ok(SignInStep::Reply(reply))
    }

    fn new_id(&self) -> String {
        let mut bytes = [0; 16];
        self.state.ids.fill_random(&mut bytes);
        hex::encode(bytes)
    }
}

/// The result of a call whose client was not asked: a text with the link.
pub(super) fn link_reply(awaited: AwaitedSignIn, modern: bool) -> Result<Box<RawValue>, RpcError> {
    outcome_reply(&Ok(CallReply::AwaitingSignIn(awaited.into())), modern)
}

/// The error of a request that its upstream rejected after each sign-in.
pub(super) fn rejected_error(name: &str) -> ToolError {
    let text =
        format!("{name} did not run: its server asks for a sign-in again after each sign-in of the user.");
    ToolError::new(ErrorCode::AppNotAvailable, text)
}
