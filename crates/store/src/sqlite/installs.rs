//! Installs and their grants.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_core::ports::{InstallStore, InstalledApp, QuotaKind, StoreError};
use toolyard_protocol::{PackageName, UserId};

use super::{SqliteStore, count_rows};
use crate::rows::{ASSISTANT_GRANT, like_pattern, parse_column, store_error, to_timestamp, to_u64};

#[async_trait]
impl InstallStore for SqliteStore {
    async fn list_installs(&self, user: &UserId) -> Result<Vec<InstalledApp>, StoreError> {
        let query = sqlx::query_as::<_, (String, i64, bool)>(
            "SELECT i.package, i.installed_at, g.what IS NOT NULL FROM installs i
             LEFT JOIN grants g ON g.user_id = i.user_id AND g.package = i.package AND g.what = ?
             WHERE i.user_id = ? ORDER BY i.installed_at, i.package",
        );
        // The list is bounded by the quota of installs.
        let rows = query.bind(ASSISTANT_GRANT).bind(user.as_str()).fetch_all(&self.read).await;
        let install = |(package, at, assistant): (String, i64, bool)| {
            Ok(InstalledApp {
                package: parse_column("package name", &package)?,
                at: to_timestamp(at),
                assistant,
            })
        };
        rows.map_err(store_error)?.into_iter().map(install).collect()
    }

    async fn install_app(
        &self,
        user: &UserId,
        package: &PackageName,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin_write().await?;
        let there = sqlx::query("SELECT 1 FROM apps WHERE package = ?").bind(package.as_str());
        if there.fetch_optional(&mut *tx).await.map_err(store_error)?.is_none() {
            return Ok(false);
        }
        let sql =
            "INSERT INTO installs (user_id, package, installed_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
        let insert = sqlx::query(sql).bind(user.as_str()).bind(package.as_str()).bind(at.as_millisecond());
        let is_new = insert.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0;
        if is_new {
            let sql = "SELECT COUNT(*) FROM installs WHERE user_id = ?";
            let installed = count_rows(&mut tx, sql, user.as_str()).await?;
            QuotaKind::InstallsPerUser.check(installed, self.quotas.load().installs_per_user)?;
        }
        tx.commit().await.map_err(store_error)?;
        Ok(true)
    }

    async fn uninstall_app(&self, user: &UserId, package: &PackageName) -> Result<bool, StoreError> {
        let mut tx = self.begin_write().await?;
        let sql = "DELETE FROM installs WHERE user_id = ? AND package = ?";
        let gone = sqlx::query(sql).bind(user.as_str()).bind(package.as_str()).execute(&mut *tx).await;
        let gone = gone.map_err(store_error)?.rows_affected() > 0;
        // An app that is installed again starts with all tools switched on.
        let sql =
            "DELETE FROM tool_settings WHERE user_id = ?1 AND substr(tool, 1, length(?2) + 1) = ?2 || ':'";
        sqlx::query(sql)
            .bind(user.as_str())
            .bind(package.as_str())
            .execute(&mut *tx)
            .await
            .map_err(store_error)?;
        for sql in [
            "DELETE FROM upstream_tokens WHERE user_id = ? AND package = ?",
            "DELETE FROM offers WHERE user_id = ? AND package = ?",
        ] {
            let forget = sqlx::query(sql).bind(user.as_str()).bind(package.as_str());
            forget.execute(&mut *tx).await.map_err(store_error)?;
        }
        tx.commit().await.map_err(store_error)?;
        Ok(gone)
    }

    async fn search_users(
        &self,
        part: &str,
        after: Option<&UserId>,
        limit: u32,
    ) -> Result<Vec<(UserId, u64)>, StoreError> {
        let query = sqlx::query_as::<_, (String, i64)>(
            "SELECT user_id, COUNT(*) FROM installs WHERE user_id LIKE ?1 ESCAPE '\\' AND user_id > ?2
             GROUP BY user_id ORDER BY user_id LIMIT ?3",
        );
        let query = query.bind(like_pattern(part)).bind(after.map_or("", UserId::as_str)).bind(limit);
        let rows = query.fetch_all(&self.read).await.map_err(store_error)?;
        rows.into_iter().map(|(user, apps)| Ok((UserId::from_stored(&user), to_u64(apps)))).collect()
    }

    async fn set_assistant_grant(
        &self,
        user: &UserId,
        package: &PackageName,
        assistant: bool,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin_write().await?;
        let there = sqlx::query("SELECT 1 FROM installs WHERE user_id = ? AND package = ?");
        let there = there
            .bind(user.as_str())
            .bind(package.as_str())
            .fetch_optional(&mut *tx)
            .await
            .map_err(store_error)?;
        if there.is_none() {
            return Ok(false);
        }
        let sql = if assistant {
            "INSERT INTO grants (user_id, package, what) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        } else {
            "DELETE FROM grants WHERE user_id = ? AND package = ? AND what = ?"
        };
        let change = sqlx::query(sql).bind(user.as_str()).bind(package.as_str()).bind(ASSISTANT_GRANT);
        change.execute(&mut *tx).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)?;
        Ok(true)
    }
}
