//! Tool sets: immutable versions and a pointer to the current one, switched in one transaction.

use std::collections::HashMap;

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::SqliteConnection;
use toolyard_core::ports::{DefinitionStore, StoreError, StoredToolSet, ToolSetRecord};
use toolyard_protocol::{PackageName, ToolAlias, ToolName};

use super::SqliteStore;
use crate::rows::{
    apps::{ToolSetContentRow, ToolSetRow, hashed_aliases},
    store_error, to_i64, to_json, to_u64,
};

/// Adds a version and makes it current, in the caller's transaction.
pub(super) async fn insert_set(
    tx: &mut SqliteConnection,
    package: &PackageName,
    set: &StoredToolSet,
    at: Timestamp,
) -> Result<u64, StoreError> {
    let latest = sqlx::query_scalar::<_, Option<i64>>("SELECT MAX(version) FROM tool_sets WHERE package = ?");
    let latest = latest.bind(package.as_str()).fetch_one(&mut *tx).await.map_err(store_error)?;
    let version = latest.unwrap_or(0) + 1;
    sqlx::query(
        "INSERT INTO tool_sets (package, version, hash, tools, items, tool_count, created_by, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(package.as_str())
    .bind(version)
    .bind(&set.hash)
    .bind(to_json("tools", &set.tools)?)
    .bind(to_json("items", &set.items)?)
    .bind(to_i64(set.tools.len() as u64))
    .bind(&set.by)
    .bind(at.as_millisecond())
    .execute(&mut *tx)
    .await
    .map_err(store_error)?;
    claim_aliases(tx, package, set).await?;
    point_to(tx, package, version, at).await?;
    Ok(to_u64(version))
}

/// Claims the hashed aliases of a set that are free.
async fn claim_aliases(
    tx: &mut SqliteConnection,
    package: &PackageName,
    set: &StoredToolSet,
) -> Result<(), StoreError> {
    for (alias, tool) in hashed_aliases(package, set) {
        let sql = "INSERT INTO tool_aliases (alias, tool, package) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
        let query = sqlx::query(sql).bind(alias.as_str()).bind(tool.as_str()).bind(package.as_str());
        query.execute(&mut *tx).await.map_err(store_error)?;
    }
    Ok(())
}

/// Removes all but the newest versions, but never the current one.
async fn forget_old_versions(
    tx: &mut SqliteConnection,
    package: &PackageName,
    keep: u64,
) -> Result<(), StoreError> {
    let forget = sqlx::query(
        "DELETE FROM tool_sets WHERE package = ?1
         AND version <> (SELECT tools_version FROM apps WHERE package = ?1)
         AND version NOT IN (SELECT version FROM tool_sets WHERE package = ?1 ORDER BY version DESC LIMIT ?2)",
    );
    let forget = forget.bind(package.as_str()).bind(to_i64(keep));
    forget.execute(tx).await.map(drop).map_err(store_error)
}

async fn point_to(
    tx: &mut SqliteConnection,
    package: &PackageName,
    version: i64,
    at: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE apps SET tools_version = ?, updated_at = ? WHERE package = ?";
    let query = sqlx::query(sql).bind(version).bind(at.as_millisecond()).bind(package.as_str());
    query.execute(&mut *tx).await.map(drop).map_err(store_error)
}

#[async_trait]
impl DefinitionStore for SqliteStore {
    async fn publish_tools(
        &self,
        package: &PackageName,
        set: StoredToolSet,
        at: Timestamp,
    ) -> Result<Option<u64>, StoreError> {
        let mut tx = self.begin_write().await?;
        let current = sqlx::query_as::<_, (i64, Option<String>)>(
            "SELECT a.tools_version, s.hash FROM apps a LEFT JOIN tool_sets s
             ON s.package = a.package AND s.version = a.tools_version WHERE a.package = ?",
        );
        let current = current.bind(package.as_str()).fetch_optional(&mut *tx).await.map_err(store_error)?;
        let version = match current {
            None => return Ok(None),
            Some((version, Some(hash))) if hash == set.hash => return Ok(Some(to_u64(version))),
            Some(_) => insert_set(&mut tx, package, &set, at).await?,
        };
        forget_old_versions(&mut tx, package, self.quotas.load().tool_versions_per_app).await?;
        tx.commit().await.map_err(store_error)?;
        Ok(Some(version))
    }

    async fn find_tool_set(
        &self,
        package: &PackageName,
        version: u64,
    ) -> Result<Option<StoredToolSet>, StoreError> {
        let sql = "SELECT tools, items, hash, created_by FROM tool_sets WHERE package = ? AND version = ?";
        let query = sqlx::query_as::<_, ToolSetContentRow>(sql).bind(package.as_str()).bind(to_i64(version));
        let row = query.fetch_optional(&self.read).await.map_err(store_error)?;
        row.map(ToolSetContentRow::into_set).transpose()
    }

    async fn list_tool_sets(&self, package: &PackageName) -> Result<Vec<ToolSetRecord>, StoreError> {
        let sql = "SELECT version, hash, created_by, created_at, tool_count FROM tool_sets
             WHERE package = ? ORDER BY version DESC";
        // The list is bounded by the number of versions that are kept.
        let query = sqlx::query_as::<_, ToolSetRow>(sql).bind(package.as_str());
        let rows = query.fetch_all(&self.read).await.map_err(store_error)?;
        Ok(rows.into_iter().map(ToolSetRow::into_record).collect())
    }

    async fn activate_version(
        &self,
        package: &PackageName,
        version: u64,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin_write().await?;
        let sql = "SELECT 1 FROM tool_sets WHERE package = ? AND version = ?";
        let there = sqlx::query(sql).bind(package.as_str()).bind(to_i64(version));
        if there.fetch_optional(&mut *tx).await.map_err(store_error)?.is_none() {
            return Ok(false);
        }
        point_to(&mut tx, package, to_i64(version), at).await?;
        tx.commit().await.map_err(store_error)?;
        Ok(true)
    }

    async fn alias_owners(&self, aliases: &[ToolAlias]) -> Result<HashMap<ToolAlias, ToolName>, StoreError> {
        let mut owners = HashMap::new();
        for alias in aliases {
            let query = sqlx::query_scalar::<_, String>("SELECT tool FROM tool_aliases WHERE alias = ?");
            let tool = query.bind(alias.as_str()).fetch_optional(&self.read).await.map_err(store_error)?;
            if let Some(tool) = tool.and_then(|tool| tool.parse().ok()) {
                owners.insert(alias.clone(), tool);
            }
        }
        Ok(owners)
    }
}
