//! What apps store for a user. It belongs to the install and is removed with it.

use async_trait::async_trait;
use serde_json::{Map, Value};
use toolyard_core::ports::{AppDataStore, QuotaKind, StoreError};
use toolyard_protocol::{PackageName, UserId};

use super::{SqliteStore, count_rows};
use crate::rows::{from_json, store_error, to_i64, to_json};

#[async_trait]
impl AppDataStore for SqliteStore {
    async fn read_entries(
        &self,
        user: &UserId,
        package: &PackageName,
    ) -> Result<Map<String, Value>, StoreError> {
        let sql = "SELECT key, value FROM app_storage WHERE user_id = ? AND package = ? ORDER BY key";
        let query = sqlx::query_as::<_, (String, String)>(sql).bind(user.as_str()).bind(package.as_str());
        let rows = query.fetch_all(&self.read).await.map_err(store_error)?;
        rows.into_iter().map(|(key, value)| Ok((key, from_json("app data", &value)?))).collect()
    }

    async fn write_entries(
        &self,
        user: &UserId,
        package: &PackageName,
        entries: Map<String, Value>,
        max_bytes: usize,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin_write().await?;
        for (key, value) in &entries {
            let sql = "INSERT INTO app_storage (user_id, package, key, value) VALUES (?, ?, ?, ?)
                 ON CONFLICT (user_id, package, key) DO UPDATE SET value = excluded.value";
            let value = to_json("app data", value)?;
            let query = sqlx::query(sql).bind(user.as_str()).bind(package.as_str()).bind(key).bind(value);
            query.execute(&mut *tx).await.map_err(store_error)?;
        }
        let sql = "SELECT COALESCE(SUM(OCTET_LENGTH(key) + OCTET_LENGTH(value)), 0) FROM app_storage WHERE user_id = ? AND package = ?";
        let total = sqlx::query_scalar::<_, i64>(sql).bind(user.as_str()).bind(package.as_str());
        let total = total.fetch_one(&mut *tx).await.map_err(store_error)?;
        if total > to_i64(max_bytes as u64) {
            return Ok(false);
        }
        tx.commit().await.map_err(store_error)?;
        Ok(true)
    }

    async fn remove_entries(
        &self,
        user: &UserId,
        package: &PackageName,
        key: Option<&str>,
    ) -> Result<u64, StoreError> {
        let sql = "DELETE FROM app_storage WHERE user_id = ?1 AND package = ?2 AND (?3 IS NULL OR key = ?3)";
        let query = sqlx::query(sql).bind(user.as_str()).bind(package.as_str()).bind(key);
        Ok(query.execute(&self.write).await.map_err(store_error)?.rows_affected())
    }

    async fn app_settings(
        &self,
        user: &UserId,
        package: &PackageName,
    ) -> Result<Map<String, Value>, StoreError> {
        let sql = "SELECT settings FROM app_settings WHERE user_id = ? AND package = ?";
        let query = sqlx::query_scalar::<_, String>(sql).bind(user.as_str()).bind(package.as_str());
        let found = query.fetch_optional(&self.read).await.map_err(store_error)?;
        found.map_or_else(|| Ok(Map::new()), |settings| from_json("settings", &settings))
    }

    async fn set_app_settings(
        &self,
        user: &UserId,
        package: &PackageName,
        values: Map<String, Value>,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO app_settings (user_id, package, settings) VALUES (?, ?, ?)
             ON CONFLICT (user_id, package) DO UPDATE SET settings = excluded.settings";
        let mut tx = self.begin_write().await?;
        let query =
            sqlx::query(sql).bind(user.as_str()).bind(package.as_str()).bind(to_json("settings", &values)?);
        query.execute(&mut *tx).await.map_err(store_error)?;
        let sql = "SELECT COALESCE(SUM(OCTET_LENGTH(settings)), 0) FROM app_settings WHERE user_id = ?";
        let bytes = count_rows(&mut tx, sql, user.as_str()).await?;
        QuotaKind::SettingsBytesPerUser.check(bytes, self.quotas.load().settings_bytes_per_user)?;
        tx.commit().await.map_err(store_error)
    }
}
