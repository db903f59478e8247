//! What users have switched off.

use async_trait::async_trait;
use toolyard_core::ports::{Settings, StoreError};
use toolyard_protocol::{ToolName, UserId};

use super::{SqliteStore, failed, rows::parsed};

/// Most switched-off tools of one user.
const MAX_OFF: i64 = 10_000;

#[async_trait]
impl Settings for SqliteStore {
    async fn tools_off(&self, user: &UserId) -> Result<Vec<ToolName>, StoreError> {
        let sql = "SELECT tool FROM tool_settings WHERE user = ? ORDER BY tool LIMIT ?";
        let query = sqlx::query_scalar::<_, String>(sql).bind(user.as_str()).bind(MAX_OFF);
        let names = query.fetch_all(&self.read).await.map_err(failed)?;
        names.iter().map(|name| parsed("tool name", name)).collect()
    }

    async fn switch_tool(&self, user: &UserId, tool: &ToolName, on: bool) -> Result<(), StoreError> {
        let sql = if on {
            "DELETE FROM tool_settings WHERE user = ? AND tool = ?"
        } else {
            "INSERT INTO tool_settings (user, tool) VALUES (?, ?) ON CONFLICT DO NOTHING"
        };
        let query = sqlx::query(sql).bind(user.as_str()).bind(tool.as_str());
        query.execute(&self.write).await.map(drop).map_err(failed)
    }
}
