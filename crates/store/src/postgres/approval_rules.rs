//! What users and the operator decided about future calls.

use async_trait::async_trait;
use sqlx::PgConnection;
use toolyard_core::ports::{ApprovalRuleStore, QuotaKind, StoreError, StoredChoice, StoredGrant, UserRules};
use toolyard_protocol::{ApprovalId, ToolName, UserId};

use super::{PostgresStore, WriteLock};
use crate::rows::{
    approval_rules::{ApprovalGrantRow, ToolChoiceRow, to_user_rules},
    store_error, to_i64, to_json, to_u64,
};

/// Adds a grant in the caller's transaction.
pub(super) async fn insert_grant(tx: &mut PgConnection, grant: &StoredGrant) -> Result<(), StoreError> {
    let query = sqlx::query!(
        "INSERT INTO approval_grants
         (id, user_id, tool, definition, arguments_digest, predicates, conversation, created_at, until, uses)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        grant.id.as_str(),
        grant.user.as_str(),
        grant.tool.as_str(),
        grant.definition.as_slice(),
        grant.arguments.as_ref().map(<[u8; 32]>::as_slice),
        to_json("predicates", &grant.predicates)?,
        grant.conversation.as_deref(),
        grant.at.as_millisecond(),
        grant.until.map(|until| until.as_millisecond()),
        grant.uses.map(to_i64)
    );
    query.execute(tx).await.map(drop).map_err(store_error)
}

#[async_trait]
impl ApprovalRuleStore for PostgresStore {
    async fn user_rules(&self, user: &UserId) -> Result<UserRules, StoreError> {
        let mut connection = self.connect().await?;
        let choices = sqlx::query_as!(
            ToolChoiceRow,
            "SELECT tool, choice, chosen_at, until, definition FROM tool_choices WHERE user_id = $1",
            user.as_str()
        );
        let choices = choices.fetch_all(&mut *connection).await.map_err(store_error)?;
        let grants = sqlx::query_as!(
            ApprovalGrantRow,
            "SELECT id, user_id, tool, definition, arguments_digest, predicates, conversation, created_at, until, uses
             FROM approval_grants WHERE user_id = $1 ORDER BY created_at",
            user.as_str()
        );
        let grants = grants.fetch_all(&mut *connection).await.map_err(store_error)?;
        to_user_rules(choices, grants)
    }

    async fn set_choice(
        &self,
        user: &UserId,
        tool: &ToolName,
        choice: Option<&StoredChoice>,
    ) -> Result<(), StoreError> {
        let Some(choice) = choice else {
            let query = sqlx::query!(
                "DELETE FROM tool_choices WHERE user_id = $1 AND tool = $2",
                user.as_str(),
                tool.as_str()
            );
            return query.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error);
        };
        let mut tx = self.begin(&[WriteLock::User(user)]).await?;
        let query = sqlx::query!(
            "INSERT INTO tool_choices (user_id, tool, choice, chosen_at, until, definition)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (user_id, tool) DO UPDATE SET choice = excluded.choice, chosen_at = excluded.chosen_at,
             until = excluded.until, definition = excluded.definition",
            user.as_str(),
            tool.as_str(),
            choice.choice.as_str(),
            choice.at.as_millisecond(),
            choice.until.map(|until| until.as_millisecond()),
            choice.definition.as_ref().map(<[u8; 32]>::as_slice)
        );
        query.execute(&mut *tx).await.map_err(store_error)?;
        let count = sqlx::query_scalar!(
            r#"SELECT COUNT(*) AS "count!" FROM tool_choices WHERE user_id = $1"#,
            user.as_str()
        );
        let count = to_u64(count.fetch_one(&mut *tx).await.map_err(store_error)?);
        QuotaKind::ToolChoices.check(count, self.quotas.load().tool_choices_per_user)?;
        tx.commit().await.map_err(store_error)
    }

    async fn add_grant(&self, grant: &StoredGrant, max: u64) -> Result<bool, StoreError> {
        let mut tx = self.begin(&[WriteLock::User(&grant.user)]).await?;
        let count = sqlx::query_scalar!(
            r#"SELECT COUNT(*) AS "count!" FROM approval_grants WHERE user_id = $1"#,
            grant.user.as_str()
        );
        if to_u64(count.fetch_one(&mut *tx).await.map_err(store_error)?) >= max {
            return Ok(false);
        }
        insert_grant(&mut tx, grant).await?;
        tx.commit().await.map_err(store_error)?;
        Ok(true)
    }

    async fn remove_grant(&self, user: &UserId, id: &ApprovalId) -> Result<bool, StoreError> {
        let query = sqlx::query!(
            "DELETE FROM approval_grants WHERE user_id = $1 AND id = $2",
            user.as_str(),
            id.as_str()
        );
        let removed = query.execute(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(removed.rows_affected() > 0)
    }

    async fn use_grant(&self, id: &ApprovalId) -> Result<bool, StoreError> {
        let query = sqlx::query!(
            "UPDATE approval_grants SET uses = uses - 1 WHERE id = $1 AND uses > 0",
            id.as_str()
        );
        let used = query.execute(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(used.rows_affected() > 0)
    }

    async fn stored_policy(&self) -> Result<Option<String>, StoreError> {
        let query = sqlx::query_scalar!("SELECT policy FROM approval_policy");
        query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)
    }

    async fn set_stored_policy(&self, policy: Option<&str>) -> Result<(), StoreError> {
        let query = match policy {
            None => sqlx::query!("DELETE FROM approval_policy"),
            Some(policy) => sqlx::query!(
                "INSERT INTO approval_policy (only_one, policy) VALUES (1, $1)
                 ON CONFLICT (only_one) DO UPDATE SET policy = excluded.policy",
                policy
            ),
        };
        query.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error)
    }
}
