//! Tool definitions, with prompts and resources beside them: immutable versions and a pointer to the current one, switched in one transaction.

use std::collections::HashMap;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::value::RawValue;
use sqlx::{FromRow, SqliteConnection};
use toolyard_core::ports::{Definitions, StoreError, StoredSet, VersionInfo};
use toolyard_protocol::{Alias, LocalName, PackageName, ToolName, raw::RawFields};

use super::{
    SqliteStore, failed,
    rows::{json, signed, text, time, unsigned},
};

#[derive(FromRow)]
struct SetRow {
    version: i64,
    hash: String,
    created_by: String,
    created_at: i64,
    tool_count: i64,
}

/// Adds a version and points to it. The caller's transaction makes both one act.
pub(super) async fn insert_set(
    tx: &mut SqliteConnection,
    package: &PackageName,
    set: &StoredSet,
    at: Timestamp,
) -> Result<u64, StoreError> {
    let latest = sqlx::query_scalar::<_, Option<i64>>("SELECT MAX(version) FROM tool_sets WHERE package = ?");
    let latest = latest.bind(package.as_str()).fetch_one(&mut *tx).await.map_err(failed)?;
    let version = latest.unwrap_or(0) + 1;
    sqlx::query(
        "INSERT INTO tool_sets (package, version, hash, tools, items, tool_count, created_by, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(package.as_str())
    .bind(version)
    .bind(&set.hash)
    .bind(text("tools", &set.tools)?)
    .bind(text("items", &set.items)?)
    .bind(signed(set.tools.len() as u64))
    .bind(&set.by)
    .bind(at.as_millisecond())
    .execute(&mut *tx)
    .await
    .map_err(failed)?;
    claim_aliases(tx, package, set).await?;
    point_to(tx, package, version, at).await?;
    Ok(unsigned(version))
}

/// Takes the hashed aliases of a set that nobody has yet.
async fn claim_aliases(
    tx: &mut SqliteConnection,
    package: &PackageName,
    set: &StoredSet,
) -> Result<(), StoreError> {
    for raw in &set.tools {
        let name = serde_json::from_str::<RawFields>(raw.get()).ok();
        let name = name.and_then(|fields| fields.read::<LocalName>("name")).and_then(Result::ok);
        let Some(tool) = name.map(|name| ToolName::new(package, &name)) else { continue };
        let alias = tool.alias();
        if alias.undo().is_some() {
            continue;
        }
        let sql = "INSERT INTO tool_aliases (alias, tool, package) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
        let query = sqlx::query(sql).bind(alias.as_str()).bind(tool.as_str()).bind(package.as_str());
        query.execute(&mut *tx).await.map_err(failed)?;
    }
    Ok(())
}

/// Removes all but the newest versions, and never the current one.
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
    let forget = forget.bind(package.as_str()).bind(signed(keep));
    forget.execute(tx).await.map(drop).map_err(failed)
}

async fn point_to(
    tx: &mut SqliteConnection,
    package: &PackageName,
    version: i64,
    at: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE apps SET tools_version = ?, updated_at = ? WHERE package = ?";
    let query = sqlx::query(sql).bind(version).bind(at.as_millisecond()).bind(package.as_str());
    query.execute(&mut *tx).await.map(drop).map_err(failed)
}

#[async_trait]
impl Definitions for SqliteStore {
    async fn publish(
        &self,
        package: &PackageName,
        set: StoredSet,
        at: Timestamp,
    ) -> Result<Option<u64>, StoreError> {
        let mut tx = self.begin().await?;
        let current = sqlx::query_as::<_, (i64, Option<String>)>(
            "SELECT a.tools_version, s.hash FROM apps a LEFT JOIN tool_sets s
             ON s.package = a.package AND s.version = a.tools_version WHERE a.package = ?",
        );
        let current = current.bind(package.as_str()).fetch_optional(&mut *tx).await.map_err(failed)?;
        let version = match current {
            None => return Ok(None),
            Some((version, Some(hash))) if hash == set.hash => return Ok(Some(unsigned(version))),
            Some(_) => insert_set(&mut tx, package, &set, at).await?,
        };
        forget_old_versions(&mut tx, package, self.quotas.tool_versions_per_app).await?;
        tx.commit().await.map_err(failed)?;
        Ok(Some(version))
    }

    async fn version(&self, package: &PackageName, version: u64) -> Result<Option<StoredSet>, StoreError> {
        let sql = "SELECT tools, items, hash, created_by FROM tool_sets WHERE package = ? AND version = ?";
        let query = sqlx::query_as::<_, (String, String, String, String)>(sql);
        let query = query.bind(package.as_str()).bind(signed(version));
        let Some((tools, items, hash, by)) = query.fetch_optional(&self.read).await.map_err(failed)? else {
            return Ok(None);
        };
        let tools = json::<Vec<Box<RawValue>>>("tools", &tools)?;
        Ok(Some(StoredSet { tools, items: json("items", &items)?, hash, by }))
    }

    async fn versions(&self, package: &PackageName) -> Result<Vec<VersionInfo>, StoreError> {
        let sql = "SELECT version, hash, created_by, created_at, tool_count FROM tool_sets
             WHERE package = ? ORDER BY version DESC";
        // How many are kept bounds the list.
        let query = sqlx::query_as::<_, SetRow>(sql).bind(package.as_str());
        let rows = query.fetch_all(&self.read).await.map_err(failed)?.into_iter();
        Ok(rows
            .map(|row| VersionInfo {
                version: unsigned(row.version),
                hash: row.hash,
                by: row.created_by,
                at: time(row.created_at),
                tool_count: unsigned(row.tool_count),
            })
            .collect())
    }

    async fn activate(&self, package: &PackageName, version: u64, at: Timestamp) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let sql = "SELECT 1 FROM tool_sets WHERE package = ? AND version = ?";
        let there = sqlx::query(sql).bind(package.as_str()).bind(signed(version));
        if there.fetch_optional(&mut *tx).await.map_err(failed)?.is_none() {
            return Ok(false);
        }
        point_to(&mut tx, package, signed(version), at).await?;
        tx.commit().await.map_err(failed)?;
        Ok(true)
    }

    async fn alias_owners(&self, aliases: &[Alias]) -> Result<HashMap<Alias, ToolName>, StoreError> {
        let mut owners = HashMap::new();
        for alias in aliases {
            let query = sqlx::query_scalar::<_, String>("SELECT tool FROM tool_aliases WHERE alias = ?");
            let tool = query.bind(alias.as_str()).fetch_optional(&self.read).await.map_err(failed)?;
            if let Some(tool) = tool.and_then(|tool| tool.parse().ok()) {
                owners.insert(alias.clone(), tool);
            }
        }
        Ok(owners)
    }
}
