//! Tool sets: immutable versions and a pointer to the current one, switched in one transaction.

use std::collections::HashMap;

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::PgConnection;
use toolyard_core::ports::{DefinitionStore, StoreError, StoredToolSet, ToolSetRecord};
use toolyard_protocol::{PackageName, ToolAlias, ToolName};

use super::{PostgresStore, WriteLock};
use crate::rows::{
    apps::{ToolSetContentRow, ToolSetRow, hashed_aliases},
    store_error, to_i64, to_json, to_u64,
};

/// Adds a version and makes it current, in the caller's transaction, which has the package to itself.
pub(super) async fn insert_set(
    tx: &mut PgConnection,
    package: &PackageName,
    set: &StoredToolSet,
    at: Timestamp,
) -> Result<u64, StoreError> {
    let latest = sqlx::query_scalar!(
        r#"SELECT COALESCE(MAX(version), 0) AS "version!" FROM tool_sets WHERE package = $1"#,
        package.as_str()
    );
    let version = latest.fetch_one(&mut *tx).await.map_err(store_error)? + 1;
    let insert = sqlx::query!(
        "INSERT INTO tool_sets (package, version, hash, tools, items, tool_count, created_by, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        package.as_str(),
        version,
        set.hash,
        to_json("tools", &set.tools)?,
        to_json("items", &set.items)?,
        to_i64(set.tools.len() as u64),
        set.by,
        at.as_millisecond()
    );
    insert.execute(&mut *tx).await.map_err(store_error)?;
    claim_aliases(tx, package, set).await?;
    point_to(tx, package, version, at).await?;
    Ok(to_u64(version))
}

/// Claims the hashed aliases of a set that are free. All packages share them, so two transactions may want the same ones at
/// once: each inserts them in order, and the one that comes second to an alias waits for the other.
async fn claim_aliases(
    tx: &mut PgConnection,
    package: &PackageName,
    set: &StoredToolSet,
) -> Result<(), StoreError> {
    let hashed = hashed_aliases(package, set).into_iter();
    let (aliases, tools): (Vec<String>, Vec<String>) =
        hashed.map(|(alias, tool)| (alias.as_str().to_owned(), tool.as_str().to_owned())).unzip();
    if aliases.is_empty() {
        return Ok(());
    }
    let query = sqlx::query!(
        "INSERT INTO tool_aliases (alias, tool, package)
         SELECT alias, tool, $3::TEXT FROM UNNEST($1::TEXT[], $2::TEXT[]) AS claimed (alias, tool) ORDER BY alias
         ON CONFLICT DO NOTHING",
        &aliases,
        &tools,
        package.as_str()
    );
    query.execute(tx).await.map(drop).map_err(store_error)
}

/// Removes all but the newest versions, but never the current one.
async fn forget_old_versions(
    tx: &mut PgConnection,
    package: &PackageName,
    keep: u64,
) -> Result<(), StoreError> {
    let forget = sqlx::query!(
        "DELETE FROM tool_sets WHERE package = $1
         AND version <> (SELECT tools_version FROM apps WHERE package = $1)
         AND version NOT IN (SELECT version FROM tool_sets WHERE package = $1 ORDER BY version DESC LIMIT $2)",
        package.as_str(),
        to_i64(keep)
    );
    forget.execute(tx).await.map(drop).map_err(store_error)
}

async fn point_to(
    tx: &mut PgConnection,
    package: &PackageName,
    version: i64,
    at: Timestamp,
) -> Result<(), StoreError> {
    let query = sqlx::query!(
        "UPDATE apps SET tools_version = $1, updated_at = $2 WHERE package = $3",
        version,
        at.as_millisecond(),
        package.as_str()
    );
    query.execute(tx).await.map(drop).map_err(store_error)
}

#[async_trait]
impl DefinitionStore for PostgresStore {
    async fn publish_tools(
        &self,
        package: &PackageName,
        set: StoredToolSet,
        at: Timestamp,
    ) -> Result<Option<u64>, StoreError> {
        let mut tx = self.begin(&[WriteLock::Package(package)]).await?;
        let current = sqlx::query!(
            r#"SELECT a.tools_version, s.hash AS "hash?" FROM apps a LEFT JOIN tool_sets s
               ON s.package = a.package AND s.version = a.tools_version WHERE a.package = $1"#,
            package.as_str()
        );
        let Some(current) = current.fetch_optional(&mut *tx).await.map_err(store_error)? else {
            return Ok(None);
        };
        if current.hash.is_some_and(|hash| hash == set.hash) {
            return Ok(Some(to_u64(current.tools_version)));
        }
        let version = insert_set(&mut tx, package, &set, at).await?;
        forget_old_versions(&mut tx, package, self.quotas.load().tool_versions_per_app).await?;
        tx.commit().await.map_err(store_error)?;
        Ok(Some(version))
    }

    async fn find_tool_set(
        &self,
        package: &PackageName,
        version: u64,
    ) -> Result<Option<StoredToolSet>, StoreError> {
        let query = sqlx::query_as!(
            ToolSetContentRow,
            "SELECT tools, items, hash, created_by FROM tool_sets WHERE package = $1 AND version = $2",
            package.as_str(),
            to_i64(version)
        );
        let row = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        row.map(ToolSetContentRow::into_set).transpose()
    }

    async fn list_tool_sets(&self, package: &PackageName) -> Result<Vec<ToolSetRecord>, StoreError> {
        // The list is bounded by the number of versions that are kept.
        let query = sqlx::query_as!(
            ToolSetRow,
            "SELECT version, hash, created_by, created_at, tool_count FROM tool_sets
             WHERE package = $1 ORDER BY version DESC",
            package.as_str()
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(rows.into_iter().map(ToolSetRow::into_record).collect())
    }

    async fn activate_version(
        &self,
        package: &PackageName,
        version: u64,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin(&[WriteLock::Package(package)]).await?;
        let there = sqlx::query_scalar!(
            r#"SELECT EXISTS (SELECT 1 FROM tool_sets WHERE package = $1 AND version = $2) AS "there!""#,
            package.as_str(),
            to_i64(version)
        );
        if !there.fetch_one(&mut *tx).await.map_err(store_error)? {
            return Ok(false);
        }
        point_to(&mut tx, package, to_i64(version), at).await?;
        tx.commit().await.map_err(store_error)?;
        Ok(true)
    }

    async fn alias_owners(&self, aliases: &[ToolAlias]) -> Result<HashMap<ToolAlias, ToolName>, StoreError> {
        let aliases: Vec<String> = aliases.iter().map(|alias| alias.as_str().to_owned()).collect();
        let query = sqlx::query!("SELECT alias, tool FROM tool_aliases WHERE alias = ANY($1)", &aliases);
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        let owners = rows.iter().filter_map(|row| Some((row.alias.parse().ok()?, row.tool.parse().ok()?)));
        Ok(owners.collect())
    }
}
