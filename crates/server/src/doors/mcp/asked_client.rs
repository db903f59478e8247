//! The client that asks the user about a call.
//!
//! What an MCP client answers does not prove that a person answered. So the client is asked to open the approvals page,
//! where the user signs in. Only a client whose token the operator trusts may answer by a form, and never for a call of
//! high risk.

use toolyard_core::executor::AwaitedApproval;
use toolyard_platform::{ActorOfUser, PlatformError, approvals as verbs};
use toolyard_protocol::{
    ApprovalId,
    approval::{AnswerRequest, ApprovalAnswer, ApprovalSurface, RiskLevel},
};

use super::{
    client::McpClientContext,
    elicitation::{ElicitationAnswer, ElicitationMode, fits_form},
};
use crate::state::ServerState;

/// The client of a call that needs approval.
pub(super) struct AskedClient<'a> {
    pub(super) state: &'a ServerState,
    pub(super) client: &'a McpClientContext,
}

impl AskedClient<'_> {
    /// The mode in which the client is asked, if it is.
    pub(super) fn choose_mode(&self, awaited: &AwaitedApproval) -> Option<ElicitationMode> {
        if self.state.config.load().approvals.mcp_wait().is_zero() {
            return None;
        }
        let may_answer = awaited.risk < RiskLevel::High && self.trusted_user().is_some();
        let modes = [
            (ElicitationMode::Form, may_answer && fits_form(&awaited.summary)),
            (ElicitationMode::Url, true),
        ];
        let usable =
            |(mode, is_allowed): &(ElicitationMode, bool)| *is_allowed && mode.is_supported(self.client);
        modes.into_iter().find(usable).map(|(mode, _)| mode)
    }

    /// The user, if the operator trusts the client's token to ask the user in person.
    fn trusted_user(&self) -> Option<ActorOfUser> {
        let token = self.client.who.lease.token_id()?;
        let is_trusted = self.state.config.load().approvals.mcp_clients.contains(token);
        is_trusted.then(|| self.client.who.user_with_token()).flatten()
    }

    /// Takes what the client answered. Returns whether the user's answer is given, or will be given on the page.
    pub(super) async fn take_answer(
        &self,
        id: &ApprovalId,
        mode: ElicitationMode,
        answer: ElicitationAnswer,
    ) -> bool {
        match (mode, answer) {
            (_, ElicitationAnswer::Refused) | (ElicitationMode::Form, ElicitationAnswer::Accepted(None)) => {
                false
            }
            // The page is open. What else the client says counts for nothing.
            (ElicitationMode::Url, ElicitationAnswer::Accepted(_)) => true,
            (ElicitationMode::Form, ElicitationAnswer::Accepted(Some(answer))) => {
                self.store_answer(id, answer).await
            }
        }
    }

    async fn store_answer(&self, id: &ApprovalId, answer: ApprovalAnswer) -> bool {
        // Checked again: the operator's list may have changed since the question.
        let Some(user) = self.trusted_user() else { return false };
        let surface = Some(ApprovalSurface::Mcp);
        let request = AnswerRequest { answer, remember: None, surface, note: None, arguments_digest: None };
        match verbs::answer(&self.state.platform, &user, id, request).await {
            // The first answer counts.
            Ok(_) | Err(PlatformError::Conflict(_)) => true,
            Err(error) => {
                tracing::warn!(%error, approval = %id, "answer of mcp client not accepted");
                false
            }
        }
    }
}
