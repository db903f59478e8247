//! User settings that do not belong to an app.

use async_trait::async_trait;
use toolyard_core::ports::{PreferenceStore, StoreError};
use toolyard_protocol::{PlatformSettings, UserId};

use super::SqliteStore;
use crate::rows::store_error;

#[async_trait]
impl PreferenceStore for SqliteStore {
    async fn platform_settings(&self, user: &UserId) -> Result<PlatformSettings, StoreError> {
        let sql = "SELECT settings FROM user_preferences WHERE user_id = ?";
        let query = sqlx::query_scalar::<_, String>(sql).bind(user.as_str());
        let stored = query.fetch_optional(&self.read).await.map_err(store_error)?;
        // If a newer version wrote it and this one cannot parse it, use the default: a setting must not cause a
        // failure.
        Ok(stored.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    async fn set_platform_settings(
        &self,
        user: &UserId,
        settings: &PlatformSettings,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO user_preferences (user_id, settings) VALUES (?, ?)
                   ON CONFLICT (user_id) DO UPDATE SET settings = excluded.settings";
        let text = toolyard_protocol::raw::to_raw(settings);
        let query = sqlx::query(sql).bind(user.as_str()).bind(text.get().to_owned());
        query.execute(&self.write).await.map(drop).map_err(store_error)
    }
}
