//! Installs and their grants.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_core::ports::{InstallStore, InstalledApp, QuotaKind, StoreError};
use toolyard_protocol::{PackageName, UserId};

use super::{PostgresStore, WriteLock};
use crate::rows::{ASSISTANT_GRANT, like_pattern, parse_column, store_error, to_timestamp, to_u64};

#[async_trait]
impl InstallStore for PostgresStore {
    async fn list_installs(&self, user: &UserId) -> Result<Vec<InstalledApp>, StoreError> {
        // The list is bounded by the quota of installs.
        let query = sqlx::query!(
            r#"SELECT i.package, i.installed_at, g.what IS NOT NULL AS "assistant!" FROM installs i
               LEFT JOIN grants g ON g.user_id = i.user_id AND g.package = i.package AND g.what = $1
               WHERE i.user_id = $2 ORDER BY i.installed_at, i.package"#,
            ASSISTANT_GRANT,
            user.as_str()
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        let installs = rows.into_iter().map(|row| {
            Ok(InstalledApp {
                package: parse_column("package name", &row.package)?,
                at: to_timestamp(row.installed_at),
                assistant: row.assistant,
            })
        });
        installs.collect()
    }

    async fn install_app(
        &self,
        user: &UserId,
        package: &PackageName,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin(&[WriteLock::User(user)]).await?;
        // Not removed before this transaction ends.
        let app =
            sqlx::query!("SELECT 1 AS found FROM apps WHERE package = $1 FOR KEY SHARE", package.as_str());
        if app.fetch_optional(&mut *tx).await.map_err(store_error)?.is_none() {
            return Ok(false);
        }
        let insert = sqlx::query!(
            "INSERT INTO installs (user_id, package, installed_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            user.as_str(),
            package.as_str(),
            at.as_millisecond()
        );
        if insert.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0 {
            let count = sqlx::query_scalar!(
                r#"SELECT COUNT(*) AS "count!" FROM installs WHERE user_id = $1"#,
                user.as_str()
            );
            let installed = to_u64(count.fetch_one(&mut *tx).await.map_err(store_error)?);
            QuotaKind::InstallsPerUser.check(installed, self.quotas.load().installs_per_user)?;
        }
        tx.commit().await.map_err(store_error)?;
        Ok(true)
    }

    async fn uninstall_app(&self, user: &UserId, package: &PackageName) -> Result<bool, StoreError> {
        // The package, too: its offers for this user must not come back.
        let mut tx = self.begin(&[WriteLock::User(user), WriteLock::Package(package)]).await?;
        let (user, package) = (user.as_str(), package.as_str());
        let gone = sqlx::query!("DELETE FROM installs WHERE user_id = $1 AND package = $2", user, package);
        let gone = gone.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0;
        // An app that is installed again starts with all tools switched on.
        let switches = sqlx::query!(
            "DELETE FROM tool_settings WHERE user_id = $1 AND starts_with(tool, $2 || ':')",
            user,
            package
        );
        switches.execute(&mut *tx).await.map_err(store_error)?;
        let tokens =
            sqlx::query!("DELETE FROM upstream_tokens WHERE user_id = $1 AND package = $2", user, package);
        tokens.execute(&mut *tx).await.map_err(store_error)?;
        let offers = sqlx::query!("DELETE FROM offers WHERE user_id = $1 AND package = $2", user, package);
        offers.execute(&mut *tx).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)?;
        Ok(gone)
    }

    async fn search_users(
        &self,
        part: &str,
        after: Option<&UserId>,
        limit: u32,
    ) -> Result<Vec<(UserId, u64)>, StoreError> {
        let query = sqlx::query!(
            r#"SELECT user_id, COUNT(*) AS "apps!" FROM installs WHERE user_id ILIKE $1 AND user_id > $2
               GROUP BY user_id ORDER BY user_id LIMIT $3"#,
            like_pattern(part),
            after.map_or("", UserId::as_str),
            i64::from(limit)
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(rows.iter().map(|row| (UserId::from_stored(&row.user_id), to_u64(row.apps))).collect())
    }

    async fn set_assistant_grant(
        &self,
        user: &UserId,
        package: &PackageName,
        assistant: bool,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin(&[]).await?;
        let (user, package) = (user.as_str(), package.as_str());
        let install = sqlx::query!(
            "SELECT 1 AS found FROM installs WHERE user_id = $1 AND package = $2 FOR KEY SHARE",
            user,
            package
        );
        if install.fetch_optional(&mut *tx).await.map_err(store_error)?.is_none() {
            return Ok(false);
        }
        let change = if assistant {
            sqlx::query!(
                "INSERT INTO grants (user_id, package, what) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                user,
                package,
                ASSISTANT_GRANT
            )
        } else {
            sqlx::query!(
                "DELETE FROM grants WHERE user_id = $1 AND package = $2 AND what = $3",
                user,
                package,
                ASSISTANT_GRANT
            )
        };
        change.execute(&mut *tx).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)?;
        Ok(true)
    }
}
