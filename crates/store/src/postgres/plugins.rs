//! Users' plugins and their data.

use async_trait::async_trait;
use toolyard_core::ports::{
    InstalledPlugin, InstalledPluginStore, MAX_PLUGIN_NAMESPACES, PluginDataQuota, PluginDataStore,
    PluginNamespace, PluginSwitch, StoreError,
};
use toolyard_protocol::{
    UserId,
    plugin::{ContentHash, PluginId},
};

use super::{PostgresStore, WriteLock};
use crate::rows::{
    damaged_value,
    plugins::{MAX_KEYS, MAX_PLUGINS, PluginRow, namespace_key, switch_columns},
    store_error, to_i64, to_json,
};

#[async_trait]
impl InstalledPluginStore for PostgresStore {
    async fn list_installed(&self, user: &UserId) -> Result<Vec<InstalledPlugin>, StoreError> {
        let query = sqlx::query_as!(
            PluginRow,
            "SELECT id, version, manifest, hash, status, granted, enabled, stopped, installed_at FROM plugins
             WHERE user_id = $1 ORDER BY installed_at, id LIMIT $2",
            user.as_str(),
            MAX_PLUGINS
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.into_iter().map(PluginRow::into_plugin).collect()
    }

    async fn find_installed(
        &self,
        user: &UserId,
        id: &PluginId,
    ) -> Result<Option<InstalledPlugin>, StoreError> {
        let query = sqlx::query_as!(
            PluginRow,
            "SELECT id, version, manifest, hash, status, granted, enabled, stopped, installed_at FROM plugins
             WHERE user_id = $1 AND id = $2",
            user.as_str(),
            id.as_str()
        );
        let row = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        row.map(PluginRow::into_plugin).transpose()
    }

    async fn put_plugin(
        &self,
        user: &UserId,
        plugin: &InstalledPlugin,
        most: usize,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin(&[WriteLock::User(user)]).await?;
        let others = sqlx::query_scalar!(
            r#"SELECT COUNT(*) AS "count!" FROM plugins WHERE user_id = $1 AND id <> $2"#,
            user.as_str(),
            plugin.id.as_str()
        );
        if others.fetch_one(&mut *tx).await.map_err(store_error)? >= to_i64(most as u64) {
            return Ok(false);
        }
        let (enabled, stopped) = switch_columns(&plugin.switch);
        let upsert = sqlx::query!(
            "INSERT INTO plugins (user_id, id, version, manifest, hash, status, granted, enabled, stopped, installed_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
             ON CONFLICT (user_id, id) DO UPDATE SET version = excluded.version, manifest = excluded.manifest,
             hash = excluded.hash, status = excluded.status, granted = excluded.granted,
             enabled = excluded.enabled, stopped = excluded.stopped",
            user.as_str(),
            plugin.id.as_str(),
            plugin.version,
            plugin.manifest,
            plugin.hash.as_str(),
            plugin.status,
            to_json("permissions", &plugin.granted)?,
            enabled,
            stopped,
            plugin.at.as_millisecond()
        );
        upsert.execute(&mut *tx).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)?;
        Ok(true)
    }

    async fn switch_plugin(
        &self,
        user: &UserId,
        id: &PluginId,
        hash: &ContentHash,
        switch: &PluginSwitch,
    ) -> Result<bool, StoreError> {
        let (enabled, stopped) = switch_columns(switch);
        let query = sqlx::query!(
            "UPDATE plugins SET enabled = $1, stopped = $2 WHERE user_id = $3 AND id = $4 AND hash = $5",
            enabled,
            stopped,
            user.as_str(),
            id.as_str(),
            hash.as_str()
        );
        let switched = query.execute(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(switched.rows_affected() > 0)
    }

    async fn remove_plugin(&self, user: &UserId, id: &PluginId) -> Result<bool, StoreError> {
        let mut tx = self.begin(&[WriteLock::User(user)]).await?;
        let gone =
            sqlx::query!("DELETE FROM plugins WHERE user_id = $1 AND id = $2", user.as_str(), id.as_str());
        let gone = gone.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0;
        if let Some(package) = id.package() {
            // A plugin that is installed again starts with all tools switched on.
            let forget = sqlx::query!(
                "DELETE FROM tool_settings WHERE user_id = $1 AND starts_with(tool, $2::TEXT || ':')",
                user.as_str(),
                package.as_str()
            );
            forget.execute(&mut *tx).await.map_err(store_error)?;
        }
        tx.commit().await.map_err(store_error)?;
        Ok(gone)
    }
}

/// The text of a stored key or value.
fn to_text(bytes: Vec<u8>) -> Result<String, StoreError> {
    String::from_utf8(bytes).map_err(|error| damaged_value("plugin data", error))
}

#[async_trait]
impl PluginDataStore for PostgresStore {
    async fn read_value(&self, shelf: &PluginNamespace, key: &str) -> Result<Option<String>, StoreError> {
        let [user, id, signer] = namespace_key(shelf);
        let query = sqlx::query_scalar!(
            "SELECT value FROM plugin_data WHERE user_id = $1 AND id = $2 AND signer = $3 AND key = $4",
            user,
            id,
            signer,
            key.as_bytes()
        );
        let value = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        value.map(to_text).transpose()
    }

    async fn set_value(
        &self,
        shelf: &PluginNamespace,
        key: &str,
        value: &str,
        room: PluginDataQuota,
    ) -> Result<bool, StoreError> {
        let [user, id, signer] = namespace_key(shelf);
        let mut tx = self.begin(&[WriteLock::User(&shelf.user)]).await?;
        let there = sqlx::query_scalar!(
            r#"SELECT EXISTS (SELECT 1 FROM plugins WHERE user_id = $1 AND id = $2) AS "there!""#,
            user,
            id
        );
        if !there.fetch_one(&mut *tx).await.map_err(store_error)? {
            // Removed while it ran: its data would never be removed.
            return Ok(false);
        }
        // A replaced row gets a new number, so the highest number of a namespace shows when it was last written.
        let upsert = sqlx::query!(
            "INSERT INTO plugin_data (user_id, id, signer, key, value) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (user_id, id, signer, key) DO UPDATE SET number = excluded.number, value = excluded.value",
            user,
            id,
            signer,
            key.as_bytes(),
            value.as_bytes()
        );
        upsert.execute(&mut *tx).await.map_err(store_error)?;
        let total = sqlx::query!(
            r#"SELECT COUNT(*) AS "keys!", COALESCE(SUM(OCTET_LENGTH(key) + OCTET_LENGTH(value)), 0) AS "bytes!"
               FROM plugin_data WHERE user_id = $1 AND id = $2 AND signer = $3"#,
            user,
            id,
            signer
        );
        let total = total.fetch_one(&mut *tx).await.map_err(store_error)?;
        if total.keys > to_i64(room.keys as u64) || total.bytes > to_i64(room.bytes as u64) {
            return Ok(false);
        }
        let clear = sqlx::query!(
            "DELETE FROM plugin_data WHERE user_id = $1 AND id = $2 AND signer NOT IN
             (SELECT signer FROM plugin_data WHERE user_id = $1 AND id = $2
              GROUP BY signer ORDER BY MAX(number) DESC LIMIT $3)",
            user,
            id,
            to_i64(MAX_PLUGIN_NAMESPACES as u64)
        );
        clear.execute(&mut *tx).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)?;
        Ok(true)
    }

    async fn remove_value(&self, shelf: &PluginNamespace, key: &str) -> Result<bool, StoreError> {
        let [user, id, signer] = namespace_key(shelf);
        let query = sqlx::query!(
            "DELETE FROM plugin_data WHERE user_id = $1 AND id = $2 AND signer = $3 AND key = $4",
            user,
            id,
            signer,
            key.as_bytes()
        );
        let removed = query.execute(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(removed.rows_affected() > 0)
    }

    async fn list_value_keys(&self, shelf: &PluginNamespace) -> Result<Vec<String>, StoreError> {
        let [user, id, signer] = namespace_key(shelf);
        let query = sqlx::query_scalar!(
            "SELECT key FROM plugin_data WHERE user_id = $1 AND id = $2 AND signer = $3 ORDER BY key LIMIT $4",
            user,
            id,
            signer,
            MAX_KEYS
        );
        let keys = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        keys.into_iter().map(to_text).collect()
    }
}
