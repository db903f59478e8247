//! Apps.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_core::ports::{AppChange, AppRecord, AppStore, NewAppRecord, QuotaKind, StoreError};
use toolyard_protocol::PackageName;

use super::{SqliteStore, count_rows, definitions::insert_set};
use crate::rows::{
    apps::{AppRow, MAX_APPS, signing_columns},
    like_pattern, store_error, to_json,
};

macro_rules! select_apps {
    ($rest:literal) => {
        concat!(
            "SELECT a.*, COALESCE(s.tool_count, 0) AS tool_count, u.details AS up_details, u.sealed AS up_sealed,",
            " u.managed AS up_managed, u.disabled AS up_disabled FROM apps a LEFT JOIN tool_sets s",
            " ON s.package = a.package AND s.version = a.tools_version",
            " LEFT JOIN upstreams u ON u.package = a.package ",
            $rest
        )
    };
}

#[async_trait]
impl AppStore for SqliteStore {
    async fn find_app(&self, package: &PackageName) -> Result<Option<AppRecord>, StoreError> {
        let query = sqlx::query_as::<_, AppRow>(select_apps!("WHERE a.package = ?")).bind(package.as_str());
        query.fetch_optional(&self.read).await.map_err(store_error)?.map(AppRow::into_record).transpose()
    }

    async fn list_apps(&self, owner: Option<&str>) -> Result<Vec<AppRecord>, StoreError> {
        let sql = select_apps!(
            "WHERE a.source = 'app' AND (?1 IS NULL OR a.owner = ?1) ORDER BY a.package LIMIT ?2"
        );
        let query = sqlx::query_as::<_, AppRow>(sql).bind(owner).bind(MAX_APPS);
        query.fetch_all(&self.read).await.map_err(store_error)?.into_iter().map(AppRow::into_record).collect()
    }

    async fn search_installable(
        &self,
        words: &str,
        after: Option<&PackageName>,
        limit: u32,
    ) -> Result<Vec<AppRecord>, StoreError> {
        let sql = select_apps!(
            "WHERE a.package > ?1 AND COALESCE(u.for_all, 0) = 0 AND COALESCE(u.disabled, 0) = 0
             AND (a.package LIKE ?2 ESCAPE '\\' OR json_extract(a.details, '$.name') LIKE ?2 ESCAPE '\\'
             OR json_extract(a.details, '$.description') LIKE ?2 ESCAPE '\\') ORDER BY a.package LIMIT ?3"
        );
        let query = sqlx::query_as::<_, AppRow>(sql)
            .bind(after.map_or("", |after| after.as_str()))
            .bind(like_pattern(words))
            .bind(i64::from(limit).min(MAX_APPS));
        query.fetch_all(&self.read).await.map_err(store_error)?.into_iter().map(AppRow::into_record).collect()
    }

    async fn create_app(&self, app: NewAppRecord) -> Result<bool, StoreError> {
        let mut tx = self.begin_write().await?;
        let created = sqlx::query(
            "INSERT INTO apps (package, details, owner, key_hash, signing, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) ON CONFLICT DO NOTHING",
        )
        .bind(app.package.as_str())
        .bind(to_json("app", &app.details)?)
        .bind(&app.owner)
        .bind(app.key_hash.as_slice())
        .bind(&app.signing)
        .bind(app.at.as_millisecond())
        .execute(&mut *tx)
        .await
        .map_err(store_error)?;
        if created.rows_affected() == 0 {
            return Ok(false);
        }
        let sql = "SELECT COUNT(*) FROM apps WHERE owner = ? AND source = 'app'";
        let owned = count_rows(&mut tx, sql, &app.owner).await?;
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
            AppChange::Details(details) => {
                let sql = "UPDATE apps SET updated_at = ?, details = ? WHERE package = ?";
                sqlx::query(sql).bind(at).bind(to_json("app", &details)?)
            }
            AppChange::Key(hash) => {
                let sql = "UPDATE apps SET updated_at = ?, key_hash = ? WHERE package = ?";
                sqlx::query(sql).bind(at).bind(hash.to_vec())
            }
            AppChange::Signing(secrets) => {
                let (current, old) = signing_columns(secrets)?;
                let sql = "UPDATE apps SET updated_at = ?, signing = ?, signing_old = ? WHERE package = ?";
                sqlx::query(sql).bind(at).bind(current).bind(old)
            }
            AppChange::Assistant(may) => {
                let sql = "UPDATE apps SET updated_at = ?, assistant = ? WHERE package = ?";
                sqlx::query(sql).bind(at).bind(may)
            }
        };
        let changed = query.bind(package).execute(&self.write).await.map_err(store_error)?;
        Ok(changed.rows_affected() > 0)
    }

    async fn remove_app(&self, package: &PackageName) -> Result<bool, StoreError> {
        let mut tx = self.begin_write().await?;
        let removed = sqlx::query("DELETE FROM apps WHERE package = ?").bind(package.as_str());
        let removed = removed.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0;
        let sql = "DELETE FROM tool_settings WHERE substr(tool, 1, length(?1) + 1) = ?1 || ':'";
        sqlx::query(sql).bind(package.as_str()).execute(&mut *tx).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)?;
        Ok(removed)
    }
}
