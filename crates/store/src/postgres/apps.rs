//! Apps.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_core::ports::{AppChange, AppRecord, AppStore, NewAppRecord, QuotaKind, StoreError};
use toolyard_protocol::PackageName;

use super::{PostgresStore, WriteLock, definitions::insert_set};
use crate::rows::{
    apps::{AppRow, MAX_APPS, signing_columns},
    like_pattern, store_error, to_json, to_u64,
};

macro_rules! select_apps {
    ($rest:literal $(, $value:expr)*) => {
        sqlx::query_as!(
            AppRow,
            r#"SELECT a.package, a.details, a.owner, a.key_hash, a.signing, a.signing_old, a.assistant,
                   a.tools_version, COALESCE(s.tool_count, 0) AS "tool_count!", a.created_at, a.updated_at,
                   u.details AS "up_details?", u.sealed AS "up_sealed?", u.managed AS "up_managed?",
                   u.disabled AS "up_disabled?"
               FROM apps a LEFT JOIN tool_sets s ON s.package = a.package AND s.version = a.tools_version
               LEFT JOIN upstreams u ON u.package = a.package "#
                + $rest
            $(, $value)*
        )
    };
}

#[async_trait]
impl AppStore for PostgresStore {
    async fn find_app(&self, package: &PackageName) -> Result<Option<AppRecord>, StoreError> {
        let query = select_apps!("WHERE a.package = $1", package.as_str());
        let row = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        row.map(AppRow::into_record).transpose()
    }

    async fn list_apps(&self, owner: Option<&str>) -> Result<Vec<AppRecord>, StoreError> {
        let query = select_apps!(
            "WHERE a.source = 'app' AND ($1::TEXT IS NULL OR a.owner = $1) ORDER BY a.package LIMIT $2",
            owner,
            MAX_APPS
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.into_iter().map(AppRow::into_record).collect()
    }

    async fn search_installable(
        &self,
        words: &str,
        after: Option<&PackageName>,
        limit: u32,
    ) -> Result<Vec<AppRecord>, StoreError> {
        // JSONB refuses U+0000, and one app with that character must not break the search for all. Without COLLATE, the
        // database's own collation would decide which letters are the same.
        let query = select_apps!(
            r#"CROSS JOIN LATERAL (SELECT replace(a.details, '\u0000', '\ufffd')::JSONB AS fields) AS d
               WHERE a.package > $1 AND NOT COALESCE(u.for_all, FALSE) AND NOT COALESCE(u.disabled, FALSE)
               AND (a.package ILIKE $2 OR (d.fields ->> 'name') COLLATE "C" ILIKE $2
               OR (d.fields ->> 'description') COLLATE "C" ILIKE $2) ORDER BY a.package LIMIT $3"#,
            after.map_or("", |after| after.as_str()),
            like_pattern(words),
            i64::from(limit).min(MAX_APPS)
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.into_iter().map(AppRow::into_record).collect()
    }

    async fn create_app(&self, app: NewAppRecord) -> Result<bool, StoreError> {
        let mut tx = self.begin(&[WriteLock::Package(&app.package), WriteLock::Owner(&app.owner)]).await?;
        let insert = sqlx::query!(
            "INSERT INTO apps (package, details, owner, key_hash, signing, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT DO NOTHING",
            app.package.as_str(),
            to_json("app", &app.details)?,
            app.owner,
            app.key_hash.as_slice(),
            app.signing,
            app.at.as_millisecond()
        );
        if insert.execute(&mut *tx).await.map_err(store_error)?.rows_affected() == 0 {
            return Ok(false);
        }
        let owned = sqlx::query_scalar!(
            r#"SELECT COUNT(*) AS "count!" FROM apps WHERE owner = $1 AND source = 'app'"#,
            app.owner
        );
        let owned = to_u64(owned.fetch_one(&mut *tx).await.map_err(store_error)?);
        QuotaKind::AppsPerDeveloper.check(owned, self.quotas.load().apps_per_developer)?;
        if let Some(set) = app.tools {
            insert_set(&mut tx, &app.package, &set, app.at).await?;
        }
        tx.commit().await.map_err(store_error)?;
        Ok(true)
    }

    async fn change_app(
        &self,
        package: &PackageName,
        change: AppChange,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let (at, package) = (at.as_millisecond(), package.as_str());
        let query = match change {
            AppChange::Details(details) => sqlx::query!(
                "UPDATE apps SET updated_at = $1, details = $2 WHERE package = $3",
                at,
                to_json("app", &details)?,
                package
            ),
            AppChange::Key(hash) => sqlx::query!(
                "UPDATE apps SET updated_at = $1, key_hash = $2 WHERE package = $3",
                at,
                hash.as_slice(),
                package
            ),
            AppChange::Signing(secrets) => {
                let (current, old) = signing_columns(secrets)?;
                sqlx::query!(
                    "UPDATE apps SET updated_at = $1, signing = $2, signing_old = $3 WHERE package = $4",
                    at,
                    current,
                    old,
                    package
                )
            }
            AppChange::Assistant(may) => sqlx::query!(
                "UPDATE apps SET updated_at = $1, assistant = $2 WHERE package = $3",
                at,
                may,
                package
            ),
        };
        let changed = query.execute(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(changed.rows_affected() > 0)
    }

    async fn remove_app(&self, package: &PackageName) -> Result<bool, StoreError> {
        let mut tx = self.begin(&[WriteLock::Package(package)]).await?;
        let removed = sqlx::query!("DELETE FROM apps WHERE package = $1", package.as_str());
        let removed = removed.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0;
        let forget = sqlx::query!(
            "DELETE FROM tool_settings WHERE starts_with(tool, $1::TEXT || ':')",
            package.as_str()
        );
        forget.execute(&mut *tx).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)?;
        Ok(removed)
    }
}
