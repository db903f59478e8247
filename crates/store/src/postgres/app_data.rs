//! What apps store for a user. It belongs to the install and is removed with it.

use async_trait::async_trait;
use serde_json::{Map, Value};
use toolyard_core::ports::{AppDataStore, QuotaKind, StoreError};
use toolyard_protocol::{PackageName, UserId};

use super::{PostgresStore, WriteLock};
use crate::rows::{from_json, store_error, to_i64, to_json, to_u64};

#[async_trait]
impl AppDataStore for PostgresStore {
    async fn read_entries(
        &self,
        user: &UserId,
        package: &PackageName,
    ) -> Result<Map<String, Value>, StoreError> {
        let query = sqlx::query!(
            "SELECT key, value FROM app_storage WHERE user_id = $1 AND package = $2 ORDER BY key",
            user.as_str(),
            package.as_str()
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.into_iter().map(|row| Ok((row.key, from_json("app data", &row.value)?))).collect()
    }

    async fn write_entries(
        &self,
        user: &UserId,
        package: &PackageName,
        entries: Map<String, Value>,
        max_bytes: usize,
    ) -> Result<bool, StoreError> {
        // The package, too: the app may be removed with all of its data.
        let mut tx = self.begin(&[WriteLock::User(user), WriteLock::Package(package)]).await?;
        let keys: Vec<String> = entries.keys().cloned().collect();
        let values =
            entries.values().map(|value| to_json("app data", value)).collect::<Result<Vec<_>, _>>()?;
        let query = sqlx::query!(
            "INSERT INTO app_storage (user_id, package, key, value)
             SELECT $1, $2, entry.key, entry.value FROM UNNEST($3::TEXT[], $4::TEXT[]) AS entry (key, value)
             ON CONFLICT (user_id, package, key) DO UPDATE SET value = excluded.value",
            user.as_str(),
            package.as_str(),
            &keys,
            &values
        );
        query.execute(&mut *tx).await.map_err(store_error)?;
        let total = sqlx::query_scalar!(
            r#"SELECT COALESCE(SUM(OCTET_LENGTH(key) + OCTET_LENGTH(value)), 0) AS "bytes!" FROM app_storage
               WHERE user_id = $1 AND package = $2"#,
            user.as_str(),
            package.as_str()
        );
        if total.fetch_one(&mut *tx).await.map_err(store_error)? > to_i64(max_bytes as u64) {
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
        let query = sqlx::query!(
            "DELETE FROM app_storage WHERE user_id = $1 AND package = $2 AND ($3::TEXT IS NULL OR key = $3)",
            user.as_str(),
            package.as_str(),
            key
        );
        let mut tx = self.begin(&[WriteLock::User(user)]).await?;
        let removed = query.execute(&mut *tx).await.map_err(store_error)?.rows_affected();
        tx.commit().await.map_err(store_error)?;
        Ok(removed)
    }

    async fn app_settings(
        &self,
        user: &UserId,
        package: &PackageName,
    ) -> Result<Map<String, Value>, StoreError> {
        let query = sqlx::query_scalar!(
            "SELECT settings FROM app_settings WHERE user_id = $1 AND package = $2",
            user.as_str(),
            package.as_str()
        );
        let found = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        found.map_or_else(|| Ok(Map::new()), |settings| from_json("settings", &settings))
    }

    async fn set_app_settings(
        &self,
        user: &UserId,
        package: &PackageName,
        values: Map<String, Value>,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin(&[WriteLock::User(user), WriteLock::Package(package)]).await?;
        let query = sqlx::query!(
            "INSERT INTO app_settings (user_id, package, settings) VALUES ($1, $2, $3)
             ON CONFLICT (user_id, package) DO UPDATE SET settings = excluded.settings",
            user.as_str(),
            package.as_str(),
            to_json("settings", &values)?
        );
        query.execute(&mut *tx).await.map_err(store_error)?;
        let total = sqlx::query_scalar!(
            r#"SELECT COALESCE(SUM(OCTET_LENGTH(settings)), 0) AS "bytes!" FROM app_settings WHERE user_id = $1"#,
            user.as_str()
        );
        let bytes = to_u64(total.fetch_one(&mut *tx).await.map_err(store_error)?);
        QuotaKind::SettingsBytesPerUser.check(bytes, self.quotas.load().settings_bytes_per_user)?;
        tx.commit().await.map_err(store_error)
    }
}
