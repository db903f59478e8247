//! The catalogue of plugins that a curator of this server signed, and the lists of trusted keys and revocations.

use async_trait::async_trait;
use toolyard_core::ports::{PluginListStore, PublishedPlugin, PublishedPluginStore, QuotaKind, StoreError};
use toolyard_protocol::plugin::PluginId;

use super::{PostgresStore, WriteLock};
use crate::rows::{like_pattern, published_plugins::PublishedRow, store_error, to_i64, to_u64};

#[async_trait]
impl PublishedPluginStore for PostgresStore {
    async fn publish_plugin(&self, plugin: &PublishedPlugin, most: usize) -> Result<bool, StoreError> {
        // The bound is for all versions together; and the latest number is that of the version that was published last.
        let mut tx = self.begin(&[WriteLock::Table("published_plugins")]).await?;
        let there = sqlx::query_scalar!(
            "SELECT hash FROM published_plugins WHERE id = $1 AND version = $2",
            plugin.id.as_str(),
            plugin.version
        );
        if let Some(hash) = there.fetch_optional(&mut *tx).await.map_err(store_error)? {
            if hash != plugin.hash.as_str() {
                return Ok(false);
            }
            // The same content with another signature: plugins are signed again after a key change.
            let again = sqlx::query!(
                "UPDATE published_plugins SET manifest = $1 WHERE id = $2 AND version = $3",
                plugin.manifest,
                plugin.id.as_str(),
                plugin.version
            );
            again.execute(&mut *tx).await.map_err(store_error)?;
            tx.commit().await.map_err(store_error)?;
            return Ok(true);
        }
        let count = sqlx::query!(
            r#"SELECT COUNT(*) AS "all!", COUNT(*) FILTER (WHERE by = $1) AS "own!" FROM published_plugins"#,
            plugin.by
        );
        let count = count.fetch_one(&mut *tx).await.map_err(store_error)?;
        if count.all >= to_i64(most as u64) {
            return Ok(false);
        }
        QuotaKind::CatalogueVersionsPerCurator
            .check(to_u64(count.own) + 1, self.quotas.load().catalogue_versions_per_curator)?;
        let insert = sqlx::query!(
            "INSERT INTO published_plugins (id, version, name, description, publisher, hash, manifest, by, published_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            plugin.id.as_str(),
            plugin.version,
            plugin.name,
            plugin.description,
            plugin.publisher.as_deref(),
            plugin.hash.as_str(),
            plugin.manifest,
            plugin.by,
            plugin.at.as_millisecond()
        );
        insert.execute(&mut *tx).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)?;
        Ok(true)
    }

    async fn search_published(
        &self,
        words: &str,
        after: Option<&PluginId>,
        limit: usize,
    ) -> Result<Vec<PublishedPlugin>, StoreError> {
        let query = sqlx::query_as!(
            PublishedRow,
            "SELECT id, version, name, description, publisher, hash, manifest, by, published_at FROM published_plugins
             WHERE number IN (SELECT MAX(number) FROM published_plugins GROUP BY id)
             AND ($1::TEXT IS NULL OR id > $1)
             AND (id ILIKE $2 OR name ILIKE $2 OR description ILIKE $2 OR publisher ILIKE $2) ORDER BY id LIMIT $3",
            after.map(PluginId::as_str),
            like_pattern(words),
            to_i64(limit as u64)
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.into_iter().map(PublishedRow::into_plugin).collect()
    }

    async fn find_published(
        &self,
        id: &PluginId,
        version: Option<&str>,
    ) -> Result<Option<PublishedPlugin>, StoreError> {
        let query = sqlx::query_as!(
            PublishedRow,
            "SELECT id, version, name, description, publisher, hash, manifest, by, published_at FROM published_plugins
             WHERE id = $1 AND ($2::TEXT IS NULL OR version = $2) ORDER BY number DESC LIMIT 1",
            id.as_str(),
            version
        );
        let row = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        row.map(PublishedRow::into_plugin).transpose()
    }
}

#[async_trait]
impl PluginListStore for PostgresStore {
    async fn plugin_list(&self, name: &str) -> Result<Option<String>, StoreError> {
        let query = sqlx::query_scalar!("SELECT text FROM plugin_lists WHERE name = $1", name);
        query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)
    }

    async fn save_plugin_list(&self, name: &str, text: &str) -> Result<(), StoreError> {
        let query = sqlx::query!(
            "INSERT INTO plugin_lists (name, text) VALUES ($1, $2)
             ON CONFLICT (name) DO UPDATE SET text = excluded.text",
            name,
            text
        );
        query.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error)
    }
}
