//! What users decided about future calls, and what conversations have read.

use sqlx::FromRow;
use toolyard_core::ports::{StoreError, StoredChoice, StoredGrant, StoredLabels, UserRules};
use toolyard_protocol::{ToolName, UserId};

use super::{from_json, parse_column, to_digest, to_timestamp, to_u64};

#[derive(FromRow)]
pub(crate) struct ApprovalGrantRow {
    pub(crate) id: String,
    pub(crate) user_id: String,
    pub(crate) tool: String,
    pub(crate) definition: Vec<u8>,
    pub(crate) arguments_digest: Option<Vec<u8>>,
    pub(crate) predicates: String,
    pub(crate) conversation: Option<String>,
    pub(crate) created_at: i64,
    pub(crate) until: Option<i64>,
    pub(crate) uses: Option<i64>,
}

impl ApprovalGrantRow {
    fn into_grant(self) -> Result<StoredGrant, StoreError> {
        Ok(StoredGrant {
            id: parse_column("approval id", &self.id)?,
            user: UserId::from_stored(&self.user_id),
            tool: parse_column("tool name", &self.tool)?,
            definition: to_digest(&self.definition)?,
            arguments: self.arguments_digest.as_deref().map(to_digest).transpose()?,
            predicates: from_json("predicates", &self.predicates)?,
            conversation: self.conversation.map(Into::into),
            at: to_timestamp(self.created_at),
            until: self.until.map(to_timestamp),
            uses: self.uses.map(to_u64),
        })
    }
}

#[derive(FromRow)]
pub(crate) struct ToolChoiceRow {
    pub(crate) tool: String,
    pub(crate) choice: String,
    pub(crate) chosen_at: i64,
    pub(crate) until: Option<i64>,
    pub(crate) definition: Option<Vec<u8>>,
}

impl ToolChoiceRow {
    fn into_choice(self) -> Result<(ToolName, StoredChoice), StoreError> {
        let choice = StoredChoice {
            choice: parse_column("choice", &self.choice)?,
            at: to_timestamp(self.chosen_at),
            until: self.until.map(to_timestamp),
            definition: self.definition.as_deref().map(to_digest).transpose()?,
        };
        Ok((parse_column("tool name", &self.tool)?, choice))
    }
}

/// A user's choices and grants, by tool.
pub(crate) fn to_user_rules(
    choices: Vec<ToolChoiceRow>,
    grants: Vec<ApprovalGrantRow>,
) -> Result<UserRules, StoreError> {
    let mut rules = UserRules::default();
    for row in choices {
        let (tool, choice) = row.into_choice()?;
        rules.choices.insert(tool, choice);
    }
    for row in grants {
        let grant = row.into_grant()?;
        rules.grants.entry(grant.tool.clone()).or_default().push(grant);
    }
    Ok(rules)
}

#[derive(FromRow)]
pub(crate) struct ConversationLabelsRow {
    pub(crate) private: String,
    pub(crate) untrusted: String,
    pub(crate) until: i64,
}

impl ConversationLabelsRow {
    pub(crate) fn into_labels(self) -> Result<StoredLabels, StoreError> {
        Ok(StoredLabels {
            private: from_json("private", &self.private)?,
            untrusted: from_json("untrusted", &self.untrusted)?,
            until: to_timestamp(self.until),
        })
    }
}
