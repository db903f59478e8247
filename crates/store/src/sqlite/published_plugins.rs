//! The catalogue of plugins that a curator of this server signed, and the lists of trusted keys and revocations.

use async_trait::async_trait;
use toolyard_core::ports::{PluginListStore, PublishedPlugin, PublishedPluginStore, QuotaKind, StoreError};
use toolyard_protocol::plugin::PluginId;

use super::{SqliteStore, count_rows};
use crate::rows::{like_pattern, published_plugins::PublishedRow, store_error, to_i64};

#[async_trait]
impl PublishedPluginStore for SqliteStore {
    async fn publish_plugin(&self, plugin: &PublishedPlugin, most: usize) -> Result<bool, StoreError> {
        let mut tx = self.begin_write().await?;
        let sql = "SELECT hash FROM published_plugins WHERE id = ? AND version = ?";
        let there = sqlx::query_scalar::<_, String>(sql).bind(plugin.id.as_str()).bind(&plugin.version);
        if let Some(hash) = there.fetch_optional(&mut *tx).await.map_err(store_error)? {
            if hash != plugin.hash.as_str() {
                return Ok(false);
            }
            // The same content with another signature: plugins are signed again after a key change.
            let sql = "UPDATE published_plugins SET manifest = ? WHERE id = ? AND version = ?";
            let again =
                sqlx::query(sql).bind(&plugin.manifest).bind(plugin.id.as_str()).bind(&plugin.version);
            again.execute(&mut *tx).await.map_err(store_error)?;
            tx.commit().await.map_err(store_error)?;
            return Ok(true);
        }
        let all = sqlx::query_scalar::<_, i64>("SELECT COUNT(*) FROM published_plugins");
        if all.fetch_one(&mut *tx).await.map_err(store_error)? >= to_i64(most as u64) {
            return Ok(false);
        }
        let sql = "SELECT COUNT(*) FROM published_plugins WHERE by = ?";
        let others = count_rows(&mut tx, sql, &plugin.by).await?;
        QuotaKind::CatalogueVersionsPerCurator
            .check(others + 1, self.quotas.load().catalogue_versions_per_curator)?;
        sqlx::query(
            "INSERT INTO published_plugins (id, version, name, description, publisher, hash, manifest, by, published_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(plugin.id.as_str())
        .bind(&plugin.version)
        .bind(&plugin.name)
        .bind(&plugin.description)
        .bind(&plugin.publisher)
        .bind(plugin.hash.as_str())
        .bind(&plugin.manifest)
        .bind(&plugin.by)
        .bind(plugin.at.as_millisecond())
        .execute(&mut *tx)
        .await
        .map_err(store_error)?;
        tx.commit().await.map_err(store_error)?;
        Ok(true)
    }

    async fn search_published(
        &self,
        words: &str,
        after: Option<&PluginId>,
        limit: usize,
    ) -> Result<Vec<PublishedPlugin>, StoreError> {
        let query = sqlx::query_as::<_, PublishedRow>(
            "SELECT * FROM published_plugins WHERE number IN (SELECT MAX(number) FROM published_plugins GROUP BY id)
             AND (?1 IS NULL OR id > ?1) AND (id LIKE ?2 ESCAPE '\\' OR name LIKE ?2 ESCAPE '\\'
             OR description LIKE ?2 ESCAPE '\\' OR publisher LIKE ?2 ESCAPE '\\') ORDER BY id LIMIT ?3",
        );
        let query =
            query.bind(after.map(PluginId::as_str)).bind(like_pattern(words)).bind(to_i64(limit as u64));
        query
            .fetch_all(&self.read)
            .await
            .map_err(store_error)?
            .into_iter()
            .map(PublishedRow::into_plugin)
            .collect()
    }

    async fn find_published(
        &self,
        id: &PluginId,
        version: Option<&str>,
    ) -> Result<Option<PublishedPlugin>, StoreError> {
        let sql = "SELECT * FROM published_plugins WHERE id = ?1 AND (?2 IS NULL OR version = ?2)
             ORDER BY number DESC LIMIT 1";
        let query = sqlx::query_as::<_, PublishedRow>(sql).bind(id.as_str()).bind(version);
        query
            .fetch_optional(&self.read)
            .await
            .map_err(store_error)?
            .map(PublishedRow::into_plugin)
            .transpose()
    }
}

#[async_trait]
impl PluginListStore for SqliteStore {
    async fn plugin_list(&self, name: &str) -> Result<Option<String>, StoreError> {
        let query = sqlx::query_scalar("SELECT text FROM plugin_lists WHERE name = ?").bind(name);
        query.fetch_optional(&self.read).await.map_err(store_error)
    }

    async fn save_plugin_list(&self, name: &str, text: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO plugin_lists (name, text) VALUES (?, ?)
             ON CONFLICT (name) DO UPDATE SET text = excluded.text";
        sqlx::query(sql).bind(name).bind(text).execute(&self.write).await.map(drop).map_err(store_error)
    }
}
