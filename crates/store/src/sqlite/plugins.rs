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

use super::SqliteStore;
use crate::rows::{
    plugins::{MAX_KEYS, MAX_PLUGINS, PluginRow, namespace_key, switch_columns},
    store_error, to_i64, to_json,
};

#[async_trait]
impl InstalledPluginStore for SqliteStore {
    async fn list_installed(&self, user: &UserId) -> Result<Vec<InstalledPlugin>, StoreError> {
        let sql = "SELECT * FROM plugins WHERE user_id = ? ORDER BY installed_at, id LIMIT ?";
        let query = sqlx::query_as::<_, PluginRow>(sql).bind(user.as_str()).bind(MAX_PLUGINS);
        query
            .fetch_all(&self.read)
            .await
            .map_err(store_error)?
            .into_iter()
            .map(PluginRow::into_plugin)
            .collect()
    }

    async fn find_installed(
        &self,
        user: &UserId,
        id: &PluginId,
    ) -> Result<Option<InstalledPlugin>, StoreError> {
        let sql = "SELECT * FROM plugins WHERE user_id = ? AND id = ?";
        let query = sqlx::query_as::<_, PluginRow>(sql).bind(user.as_str()).bind(id.as_str());
        query.fetch_optional(&self.read).await.map_err(store_error)?.map(PluginRow::into_plugin).transpose()
    }

    async fn put_plugin(
        &self,
        user: &UserId,
        plugin: &InstalledPlugin,
        most: usize,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin_write().await?;
        let sql = "SELECT COUNT(*) FROM plugins WHERE user_id = ? AND id <> ?";
        let others = sqlx::query_scalar::<_, i64>(sql).bind(user.as_str()).bind(plugin.id.as_str());
        if others.fetch_one(&mut *tx).await.map_err(store_error)? >= to_i64(most as u64) {
            return Ok(false);
        }
        let (enabled, stopped) = switch_columns(&plugin.switch);
        sqlx::query(
            "INSERT INTO plugins (user_id, id, version, manifest, hash, status, granted, enabled, stopped, installed_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
             ON CONFLICT (user_id, id) DO UPDATE SET version = excluded.version, manifest = excluded.manifest,
             hash = excluded.hash, status = excluded.status, granted = excluded.granted,
             enabled = excluded.enabled, stopped = excluded.stopped",
        )
        .bind(user.as_str())
        .bind(plugin.id.as_str())
        .bind(&plugin.version)
        .bind(&plugin.manifest)
        .bind(plugin.hash.as_str())
        .bind(&plugin.status)
        .bind(to_json("permissions", &plugin.granted)?)
        .bind(enabled)
        .bind(stopped)
        .bind(plugin.at.as_millisecond())
        .execute(&mut *tx)
        .await
        .map_err(store_error)?;
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
        let sql = "UPDATE plugins SET enabled = ?, stopped = ? WHERE user_id = ? AND id = ? AND hash = ?";
        let query = sqlx::query(sql).bind(enabled).bind(stopped).bind(user.as_str());
        let query = query.bind(id.as_str()).bind(hash.as_str());
        Ok(query.execute(&self.write).await.map_err(store_error)?.rows_affected() > 0)
    }

    async fn remove_plugin(&self, user: &UserId, id: &PluginId) -> Result<bool, StoreError> {
        let mut tx = self.begin_write().await?;
        let gone = sqlx::query("DELETE FROM plugins WHERE user_id = ? AND id = ?");
        let gone = gone.bind(user.as_str()).bind(id.as_str()).execute(&mut *tx).await.map_err(store_error)?;
        if let Some(package) = id.package() {
            // A plugin that is installed again starts with all tools switched on.
            let sql = "DELETE FROM tool_settings WHERE user_id = ?1 AND substr(tool, 1, length(?2) + 1) = ?2 || ':'";
            let forget = sqlx::query(sql).bind(user.as_str()).bind(package.as_str());
            forget.execute(&mut *tx).await.map_err(store_error)?;
        }
        tx.commit().await.map_err(store_error)?;
        Ok(gone.rows_affected() > 0)
    }
}

/// The rows of a namespace, with three values to bind: see [`namespace_key`].
macro_rules! on_shelf {
    ($before:literal, $after:literal) => {
        concat!($before, " FROM plugin_data WHERE user_id = ? AND id = ? AND signer = ?", $after)
    };
}

#[async_trait]
impl PluginDataStore for SqliteStore {
    async fn read_value(&self, shelf: &PluginNamespace, key: &str) -> Result<Option<String>, StoreError> {
        let [user, id, signer] = namespace_key(shelf);
        let sql = on_shelf!("SELECT value", " AND key = ?");
        let query = sqlx::query_scalar(sql).bind(user).bind(id).bind(signer).bind(key);
        query.fetch_optional(&self.read).await.map_err(store_error)
    }

    async fn set_value(
        &self,
        shelf: &PluginNamespace,
        key: &str,
        value: &str,
        room: PluginDataQuota,
    ) -> Result<bool, StoreError> {
        let [user, id, signer] = namespace_key(shelf);
        let mut tx = self.begin_write().await?;
        let there = sqlx::query("SELECT 1 FROM plugins WHERE user_id = ? AND id = ?");
        let there = there.bind(user).bind(id).fetch_optional(&mut *tx).await;
        if there.map_err(store_error)?.is_none() {
            // Removed while it ran: its data would never be removed.
            return Ok(false);
        }
        // A replaced row gets a new number, so the highest number of a namespace shows when it was last written.
        let sql =
            "INSERT OR REPLACE INTO plugin_data (user_id, id, signer, key, value) VALUES (?, ?, ?, ?, ?)";
        let query = sqlx::query(sql).bind(user).bind(id).bind(signer).bind(key).bind(value);
        query.execute(&mut *tx).await.map_err(store_error)?;
        let sql = on_shelf!("SELECT COUNT(*), COALESCE(SUM(OCTET_LENGTH(key) + OCTET_LENGTH(value)), 0)", "");
        let total = sqlx::query_as::<_, (i64, i64)>(sql).bind(user).bind(id).bind(signer);
        let (keys, bytes) = total.fetch_one(&mut *tx).await.map_err(store_error)?;
        if keys > to_i64(room.keys as u64) || bytes > to_i64(room.bytes as u64) {
            return Ok(false);
        }
        let sql = "DELETE FROM plugin_data WHERE user_id = ?1 AND id = ?2 AND signer NOT IN
             (SELECT signer FROM plugin_data WHERE user_id = ?1 AND id = ?2
              GROUP BY signer ORDER BY MAX(number) DESC LIMIT ?3)";
        let clear = sqlx::query(sql).bind(user).bind(id).bind(to_i64(MAX_PLUGIN_NAMESPACES as u64));
        clear.execute(&mut *tx).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)?;
        Ok(true)
    }

    async fn remove_value(&self, shelf: &PluginNamespace, key: &str) -> Result<bool, StoreError> {
        let [user, id, signer] = namespace_key(shelf);
        let sql = on_shelf!("DELETE", " AND key = ?");
        let query = sqlx::query(sql).bind(user).bind(id).bind(signer).bind(key);
        Ok(query.execute(&self.write).await.map_err(store_error)?.rows_affected() > 0)
    }

    async fn list_value_keys(&self, shelf: &PluginNamespace) -> Result<Vec<String>, StoreError> {
        let [user, id, signer] = namespace_key(shelf);
        let sql = on_shelf!("SELECT key", " ORDER BY key LIMIT ?");
        let query = sqlx::query_scalar(sql).bind(user).bind(id).bind(signer).bind(MAX_KEYS);
        query.fetch_all(&self.read).await.map_err(store_error)
    }
}

#[cfg(test)]
mod tests {
    use sqlx::{Connection as _, SqliteConnection};

    /// Data from before namespaces had a signer belongs to the signer of the installed plugin.
    #[tokio::test]
    async fn older_plugin_data_gets_its_signer() {
        let mut db = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        let run = async |db: &mut SqliteConnection, sql: &'static str| {
            sqlx::raw_sql(sql).execute(db).await.unwrap();
        };
        run(&mut db, include_str!("../../migrations/sqlite/0004_plugins.sql")).await;
        let rows = r#"
            INSERT INTO plugins VALUES
                ('ada', 'a', '1', '{"alg":"Ed25519","keyId":"00112233445566ff"}', '', '', '{}', 1, NULL, 0),
                ('ada', 'b', '1', '{"id":"b"}', '', '', '{}', 1, NULL, 0),
                ('ada', 'c', '1', 'damaged', '', '', '{}', 1, NULL, 0);
            INSERT INTO plugin_data VALUES ('ada', 'a', 'k', '1'), ('ada', 'b', 'k', '2'), ('ada', 'c', 'k', '3');
            "#;
        run(&mut db, rows).await;
        run(&mut db, include_str!("../../migrations/sqlite/0006_plugin_data_signer.sql")).await;
        let sql = "SELECT id, signer, value FROM plugin_data ORDER BY id";
        let found = sqlx::query_as::<_, (String, String, String)>(sql).fetch_all(&mut db).await.unwrap();
        let expected = [("a", "00112233445566ff", "1"), ("b", "unsigned", "2"), ("c", "unsigned", "3")];
        let expected = expected.map(|(id, signer, value)| (id.into(), signer.into(), value.into()));
        assert_eq!(found, expected);
        run(&mut db, "PRAGMA foreign_keys = ON; DELETE FROM plugins WHERE id = 'a';").await;
        let left = sqlx::query_scalar::<_, i64>("SELECT COUNT(*) FROM plugin_data").fetch_one(&mut db).await;
        assert_eq!(left.unwrap(), 2, "it still goes with the plugin");
    }
}
