//! What users and the operator decided about future calls.

use async_trait::async_trait;
use sqlx::SqliteConnection;
use toolyard_core::ports::{ApprovalRuleStore, QuotaKind, StoreError, StoredChoice, StoredGrant, UserRules};
use toolyard_protocol::{ApprovalId, ToolName, UserId};

use super::{SqliteStore, count_rows};
use crate::rows::{
    approval_rules::{ApprovalGrantRow, ToolChoiceRow, to_user_rules},
    store_error, to_i64, to_json,
};

/// Adds a grant in the caller's transaction.
pub(super) async fn insert_grant(tx: &mut SqliteConnection, grant: &StoredGrant) -> Result<(), StoreError> {
    let query = sqlx::query(
        "INSERT INTO approval_grants
         (id, user_id, tool, definition, arguments_digest, predicates, conversation, created_at, until, uses)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    );
    let query = query
        .bind(grant.id.as_str())
        .bind(grant.user.as_str())
        .bind(grant.tool.as_str())
        .bind(grant.definition.as_slice())
        .bind(grant.arguments.as_ref().map(<[u8; 32]>::as_slice))
        .bind(to_json("predicates", &grant.predicates)?)
        .bind(grant.conversation.as_deref())
        .bind(grant.at.as_millisecond())
        .bind(grant.until.map(|until| until.as_millisecond()))
        .bind(grant.uses.map(to_i64));
    query.execute(tx).await.map(drop).map_err(store_error)
}

#[async_trait]
impl ApprovalRuleStore for SqliteStore {
    async fn user_rules(&self, user: &UserId) -> Result<UserRules, StoreError> {
        let sql = "SELECT * FROM tool_choices WHERE user_id = ?";
        let choices = sqlx::query_as::<_, ToolChoiceRow>(sql).bind(user.as_str());
        let choices = choices.fetch_all(&self.read).await.map_err(store_error)?;
        let sql = "SELECT * FROM approval_grants WHERE user_id = ? ORDER BY created_at";
        let grants = sqlx::query_as::<_, ApprovalGrantRow>(sql).bind(user.as_str());
        let grants = grants.fetch_all(&self.read).await.map_err(store_error)?;
        to_user_rules(choices, grants)
    }

    async fn set_choice(
        &self,
        user: &UserId,
        tool: &ToolName,
        choice: Option<&StoredChoice>,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin_write().await?;
        let Some(choice) = choice else {
            let query = sqlx::query("DELETE FROM tool_choices WHERE user_id = ? AND tool = ?");
            let query = query.bind(user.as_str()).bind(tool.as_str());
            query.execute(&mut *tx).await.map_err(store_error)?;
            return tx.commit().await.map_err(store_error);
        };
        let query = sqlx::query(
            "INSERT INTO tool_choices (user_id, tool, choice, chosen_at, until, definition) VALUES (?, ?, ?, ?, ?, ?)
             ON CONFLICT (user_id, tool) DO UPDATE SET choice = excluded.choice, chosen_at = excluded.chosen_at,
             until = excluded.until, definition = excluded.definition",
        );
        let query = query
            .bind(user.as_str())
            .bind(tool.as_str())
            .bind(choice.choice.as_str())
            .bind(choice.at.as_millisecond())
            .bind(choice.until.map(|until| until.as_millisecond()))
            .bind(choice.definition.as_ref().map(<[u8; 32]>::as_slice));
        query.execute(&mut *tx).await.map_err(store_error)?;
        let sql = "SELECT COUNT(*) FROM tool_choices WHERE user_id = ?";
        let count = count_rows(&mut tx, sql, user.as_str()).await?;
        QuotaKind::ToolChoices.check(count, self.quotas.load().tool_choices_per_user)?;
        tx.commit().await.map_err(store_error)
    }

    async fn add_grant(&self, grant: &StoredGrant, max: u64) -> Result<bool, StoreError> {
        let mut tx = self.begin_write().await?;
        let sql = "SELECT COUNT(*) FROM approval_grants WHERE user_id = ?";
        if count_rows(&mut tx, sql, grant.user.as_str()).await? >= max {
            return Ok(false);
        }
        insert_grant(&mut tx, grant).await?;
        tx.commit().await.map_err(store_error)?;
        Ok(true)
    }

    async fn remove_grant(&self, user: &UserId, id: &ApprovalId) -> Result<bool, StoreError> {
        let query = sqlx::query("DELETE FROM approval_grants WHERE user_id = ? AND id = ?");
        let removed = query.bind(user.as_str()).bind(id.as_str()).execute(&self.write);
        Ok(removed.await.map_err(store_error)?.rows_affected() > 0)
    }

    async fn use_grant(&self, id: &ApprovalId) -> Result<bool, StoreError> {
        let query = sqlx::query("UPDATE approval_grants SET uses = uses - 1 WHERE id = ? AND uses > 0");
        let used = query.bind(id.as_str()).execute(&self.write).await.map_err(store_error)?;
        Ok(used.rows_affected() > 0)
    }

    async fn stored_policy(&self) -> Result<Option<String>, StoreError> {
        let query = sqlx::query_scalar("SELECT policy FROM approval_policy");
        query.fetch_optional(&self.read).await.map_err(store_error)
    }

    async fn set_stored_policy(&self, policy: Option<&str>) -> Result<(), StoreError> {
        let query = match policy {
            None => sqlx::query("DELETE FROM approval_policy"),
            Some(policy) => sqlx::query(
                "INSERT INTO approval_policy (only_one, policy) VALUES (1, ?)
                 ON CONFLICT (only_one) DO UPDATE SET policy = excluded.policy",
            )
            .bind(policy),
        };
        query.execute(&self.write).await.map(drop).map_err(store_error)
    }
}
