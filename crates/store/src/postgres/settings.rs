//! The tools that users switched off.

use async_trait::async_trait;
use toolyard_core::ports::{QuotaKind, StoreError, ToolSwitchStore};
use toolyard_protocol::{ToolName, UserId};

use super::{PostgresStore, WriteLock};
use crate::rows::{parse_column, store_error, to_u64};

#[async_trait]
impl ToolSwitchStore for PostgresStore {
    async fn list_switched_off(&self, user: &UserId) -> Result<Vec<ToolName>, StoreError> {
        // The list is bounded by the quota of switched-off tools.
        let query = sqlx::query_scalar!(
            "SELECT tool FROM tool_settings WHERE user_id = $1 ORDER BY tool",
            user.as_str()
        );
        let names = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        names.iter().map(|name| parse_column("tool name", name)).collect()
    }

    async fn switch_tool(&self, user: &UserId, tool: &ToolName, on: bool) -> Result<(), StoreError> {
        if on {
            let query = sqlx::query!(
                "DELETE FROM tool_settings WHERE user_id = $1 AND tool = $2",
                user.as_str(),
                tool.as_str()
            );
            return query.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error);
        }
        let mut tx = self.begin(&[WriteLock::User(user)]).await?;
        let query = sqlx::query!(
            "INSERT INTO tool_settings (user_id, tool) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            user.as_str(),
            tool.as_str()
        );
        if query.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0 {
            let count = sqlx::query_scalar!(
                r#"SELECT COUNT(*) AS "count!" FROM tool_settings WHERE user_id = $1"#,
                user.as_str()
            );
            let off = to_u64(count.fetch_one(&mut *tx).await.map_err(store_error)?);
            QuotaKind::SwitchedOffTools.check(off, self.quotas.load().switched_off_tools_per_user)?;
        }
        tx.commit().await.map_err(store_error)
    }
}
