//! Rows of approvals.

use serde::{Deserialize, Serialize};
use sqlx::FromRow;
use toolyard_core::{
    executor::{CallOwner, Caller},
    ports::{ApprovalRecord, ApprovedCall, StoreError, StoredAnswer},
};
use toolyard_protocol::{
    UserId,
    approval::{ApprovalAnswer, ApprovalSurface, RememberScope},
};

use super::{calls::read_door, from_json, parse_column, to_digest, to_timestamp};

/// Most rows of a page.
pub(crate) const MAX_PAGE: u32 = 200;

#[derive(FromRow)]
pub(crate) struct ApprovalRow {
    pub(crate) id: String,
    pub(crate) user_id: String,
    pub(crate) caller: String,
    pub(crate) tool: String,
    pub(crate) definition: Vec<u8>,
    pub(crate) arguments_digest: Vec<u8>,
    pub(crate) summary: Vec<u8>,
    pub(crate) arguments: Option<Vec<u8>>,
    pub(crate) risk: String,
    pub(crate) reason: String,
    pub(crate) can_remember: bool,
    pub(crate) door: String,
    pub(crate) client: Option<String>,
    pub(crate) conversation: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) call: String,
    pub(crate) created_at: i64,
    pub(crate) expires_at: i64,
    pub(crate) state: String,
    pub(crate) answer: Option<String>,
    pub(crate) run: Option<String>,
    pub(crate) outcome: Option<String>,
    pub(crate) delivered: bool,
}

/// An answer as it is stored.
#[derive(Serialize, Deserialize)]
pub(crate) struct AnswerColumn {
    answer: ApprovalAnswer,
    by: String,
    surface: ApprovalSurface,
    at: i64,
    remember: RememberScope,
    note: Option<String>,
}

impl AnswerColumn {
    pub(crate) fn new(answer: &StoredAnswer) -> Self {
        Self {
            answer: answer.answer,
            by: answer.by.clone(),
            surface: answer.surface,
            at: answer.at.as_millisecond(),
            remember: answer.remember.clone(),
            note: answer.note.clone(),
        }
    }

    fn into_answer(self) -> StoredAnswer {
        StoredAnswer {
            answer: self.answer,
            by: self.by,
            surface: self.surface,
            at: to_timestamp(self.at),
            remember: self.remember,
            note: self.note,
        }
    }
}

impl ApprovalRow {
    pub(crate) fn into_record(self) -> Result<ApprovalRecord, StoreError> {
        let answer = self.answer.map(|text| from_json::<AnswerColumn>("answer", &text)).transpose()?;
        Ok(ApprovalRecord {
            id: parse_column("approval id", &self.id)?,
            owner: CallOwner {
                user: UserId::from_stored(&self.user_id),
                caller: parse_column::<Caller>("caller", &self.caller)?,
            },
            subject: ApprovedCall {
                tool: parse_column("tool name", &self.tool)?,
                definition: to_digest(&self.definition)?,
                arguments: to_digest(&self.arguments_digest)?,
            },
            summary: self.summary,
            arguments: self.arguments,
            risk: parse_column("risk", &self.risk)?,
            reason: parse_column("reason", &self.reason)?,
            can_remember: self.can_remember,
            door: read_door(&self.door)?,
            client: self.client.map(Into::into),
            conversation: self.conversation.map(Into::into),
            session: self.session.map(Into::into),
            call: parse_column("call id", &self.call)?,
            created_at: to_timestamp(self.created_at),
            expires_at: to_timestamp(self.expires_at),
            state: parse_column("state", &self.state)?,
            answer: answer.map(AnswerColumn::into_answer),
            run: self.run.map(|id| parse_column("call id", &id)).transpose()?,
            outcome: self.outcome,
            delivered: self.delivered,
        })
    }
}
