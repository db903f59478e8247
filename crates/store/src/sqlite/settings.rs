//! The tools that users switched off.

use async_trait::async_trait;
use toolyard_core::ports::{QuotaKind, StoreError, ToolSwitchStore};
use toolyard_protocol::{ToolName, UserId};

use super::{SqliteStore, count_rows};
use crate::rows::{parse_column, store_error};

#[async_trait]
impl ToolSwitchStore for SqliteStore {
    async fn list_switched_off(&self, user: &UserId) -> Result<Vec<ToolName>, StoreError> {
        // The list is bounded by the quota of switched-off tools.
        let sql = "SELECT tool FROM tool_settings WHERE user_id = ? ORDER BY tool";
        let query = sqlx::query_scalar::<_, String>(sql).bind(user.as_str());
        let names = query.fetch_all(&self.read).await.map_err(store_error)?;
        names.iter().map(|name| parse_column("tool name", name)).collect()
    }

    async fn switch_tool(&self, user: &UserId, tool: &ToolName, on: bool) -> Result<(), StoreError> {
        let sql = if on {
            "DELETE FROM tool_settings WHERE user_id = ? AND tool = ?"
        } else {
            "INSERT INTO tool_settings (user_id, tool) VALUES (?, ?) ON CONFLICT DO NOTHING"
        };
        let mut tx = self.begin_write().await?;
        let query = sqlx::query(sql).bind(user.as_str()).bind(tool.as_str());
        let changed = query.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0;
        if changed && !on {
            let off =
                count_rows(&mut tx, "SELECT COUNT(*) FROM tool_settings WHERE user_id = ?", user.as_str())
                    .await?;
            QuotaKind::SwitchedOffTools.check(off, self.quotas.load().switched_off_tools_per_user)?;
        }
        tx.commit().await.map_err(store_error)
    }
}
