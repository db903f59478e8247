//! Upstream MCP servers: their records, offers and users' tokens.

use async_trait::async_trait;
use toolyard_core::ports::{
    NewUpstreamRecord, OfferStore, QuotaKind, StoreError, StoredOffer, UpstreamRecord, UpstreamStore,
    UpstreamTokenStore, UpstreamWrite,
};
use toolyard_protocol::{PackageName, UserId};

use super::{SqliteStore, changes::latest_version, count_rows};
use crate::rows::{
    parse_column, store_error, to_json,
    upstreams::{MAX_UPSTREAMS, OfferRow, UpstreamRow, UpstreamTokenRow, details_as_app},
    user_column,
};

#[async_trait]
impl UpstreamStore for SqliteStore {
    async fn put_upstream(&self, new: NewUpstreamRecord) -> Result<bool, StoreError> {
        let mut tx = self.begin_write().await?;
        let details = &new.upstream.details;
        let stored = sqlx::query(write_sql(new.write))
            .bind(new.package.as_str())
            .bind(to_json("app", &details_as_app(details))?)
            .bind(&new.owner)
            .bind(new.at.as_millisecond())
            .execute(&mut *tx)
            .await
            .map_err(store_error)?;
        if stored.rows_affected() == 0 {
            return Ok(false);
        }
        if new.moved {
            let gone =
                sqlx::query("DELETE FROM upstream_tokens WHERE package = ?").bind(new.package.as_str());
            gone.execute(&mut *tx).await.map_err(store_error)?;
        }
        let is_known = "SELECT COUNT(*) FROM upstreams WHERE package = ?";
        if !new.upstream.managed && count_rows(&mut tx, is_known, new.package.as_str()).await? == 0 {
            let sql = "SELECT COUNT(*) FROM upstreams u JOIN apps a ON a.package = u.package
                 WHERE a.owner = ? AND NOT u.managed";
            let others = count_rows(&mut tx, sql, &new.owner).await?;
            QuotaKind::UpstreamsPerDeveloper.check(others + 1, self.quotas.load().upstreams_per_developer)?;
        }
        sqlx::query(
            "INSERT INTO upstreams (package, details, sealed, for_all, managed, disabled) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (package) DO UPDATE SET details = ?2, sealed = ?3, for_all = ?4, managed = ?5, disabled = ?6",
        )
        .bind(new.package.as_str())
        .bind(to_json("upstream", details)?)
        .bind(&new.upstream.sealed)
        .bind(details.for_all)
        .bind(new.upstream.managed)
        .bind(new.upstream.disabled)
        .execute(&mut *tx)
        .await
        .map_err(store_error)?;
        tx.commit().await.map_err(store_error)?;
        Ok(true)
    }

    async fn list_upstreams(&self) -> Result<Vec<(PackageName, String, UpstreamRecord)>, StoreError> {
        let query = sqlx::query_as::<_, UpstreamRow>(
            "SELECT a.package, a.owner, u.details, u.sealed, u.managed, u.disabled
             FROM upstreams u JOIN apps a ON a.package = u.package ORDER BY a.package LIMIT ?",
        );
        let rows = query.bind(MAX_UPSTREAMS).fetch_all(&self.read).await.map_err(store_error)?;
        rows.into_iter().map(UpstreamRow::into_entry).collect()
    }

    async fn list_shared_upstreams(&self) -> Result<Vec<PackageName>, StoreError> {
        let query = sqlx::query_scalar::<_, String>(
            "SELECT a.package FROM upstreams u JOIN apps a ON a.package = u.package
             WHERE u.for_all AND NOT u.disabled ORDER BY a.created_at, a.package LIMIT ?",
        );
        let rows = query.bind(MAX_UPSTREAMS).fetch_all(&self.read).await.map_err(store_error)?;
        rows.iter().map(|package| parse_column("package name", package)).collect()
    }
}

/// An upstream has no key and no signing secret: empty values never match.
fn write_sql(write: UpstreamWrite) -> &'static str {
    match write {
        UpstreamWrite::Add => {
            "INSERT INTO apps (package, details, owner, key_hash, signing, source, created_at, updated_at)
             VALUES (?1, ?2, ?3, x'', x'', 'upstream', ?4, ?4) ON CONFLICT (package) DO NOTHING"
        }
        UpstreamWrite::Change => {
            "UPDATE apps SET details = ?2, updated_at = ?4 WHERE package = ?1 AND owner = ?3 AND source = 'upstream'"
        }
        UpstreamWrite::Configure => {
            "INSERT INTO apps (package, details, owner, key_hash, signing, source, created_at, updated_at)
             VALUES (?1, ?2, ?3, x'', x'', 'upstream', ?4, ?4)
             ON CONFLICT (package) DO UPDATE SET details = ?2, owner = ?3, updated_at = ?4 WHERE source = 'upstream'"
        }
    }
}

#[async_trait]
impl OfferStore for SqliteStore {
    async fn last_offer(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
    ) -> Result<Option<StoredOffer>, StoreError> {
        let sql = "SELECT lists, hash, fetched_at FROM offers WHERE package = ? AND user_id = ?";
        let query = sqlx::query_as::<_, OfferRow>(sql).bind(package.as_str()).bind(user_column(user));
        let row = query.fetch_optional(&self.read).await.map_err(store_error)?;
        row.map(OfferRow::into_offer).transpose()
    }

    async fn offer_version(&self) -> Result<u64, StoreError> {
        latest_version(&self.read).await
    }

    async fn save_offer(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
        offer: StoredOffer,
        read_since: u64,
    ) -> Result<bool, StoreError> {
        // The log tells what changed since, in the same statement: an offer that was read for an authorization that is gone must
        // not come back. A log that no longer reaches back that far cannot tell, so the offer is refused.
        let insert = sqlx::query(
            "INSERT INTO offers (package, user_id, hash, lists, fetched_at)
             SELECT package, ?2, ?3, ?4, ?5 FROM upstreams WHERE package = ?1
                 AND NOT EXISTS (SELECT 1 FROM changes WHERE version > ?6 AND (
                     (kind IN ('upstream_changed', 'upstream_removed') AND subject = ?1)
                     OR (kind IN ('authorization_changed', 'app_uninstalled') AND subject = ?2 AND detail = ?1)))
                 AND COALESCE((SELECT MIN(version) FROM changes), 0) <= ?6 + 1
             ON CONFLICT (package, user_id) DO UPDATE SET hash = ?3, lists = ?4, fetched_at = ?5",
        );
        let insert = insert
            .bind(package.as_str())
            .bind(user_column(user))
            .bind(&offer.hash)
            .bind(to_json("offer", &offer.offer)?)
            .bind(offer.at.as_millisecond())
            .bind(i64::try_from(read_since).unwrap_or(i64::MAX - 1));
        Ok(insert.execute(&self.write).await.map_err(store_error)?.rows_affected() > 0)
    }
}

#[async_trait]
impl UpstreamTokenStore for SqliteStore {
    async fn find_token(&self, package: &PackageName, user: &UserId) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT sealed FROM upstream_tokens WHERE package = ? AND user_id = ?";
        let query = sqlx::query_scalar(sql).bind(package.as_str()).bind(user.as_str());
        query.fetch_optional(&self.read).await.map_err(store_error)
    }

    async fn set_token(
        &self,
        package: &PackageName,
        user: &UserId,
        sealed: Option<Vec<u8>>,
    ) -> Result<bool, StoreError> {
        let query = match sealed {
            Some(sealed) => sqlx::query(
                "INSERT INTO upstream_tokens (package, user_id, sealed)
                 SELECT package, ?2, ?3 FROM upstreams WHERE package = ?1
                 ON CONFLICT (package, user_id) DO UPDATE SET sealed = ?3",
            )
            .bind(package.as_str())
            .bind(user.as_str())
            .bind(sealed),
            None => sqlx::query("DELETE FROM upstream_tokens WHERE package = ? AND user_id = ?")
                .bind(package.as_str())
                .bind(user.as_str()),
        };
        Ok(query.execute(&self.write).await.map_err(store_error)?.rows_affected() > 0)
    }

    async fn replace_token(
        &self,
        package: &PackageName,
        user: &UserId,
        sealed: Vec<u8>,
    ) -> Result<bool, StoreError> {
        let query = sqlx::query("UPDATE upstream_tokens SET sealed = ? WHERE package = ? AND user_id = ?")
            .bind(sealed)
            .bind(package.as_str())
            .bind(user.as_str());
        Ok(query.execute(&self.write).await.map_err(store_error)?.rows_affected() > 0)
    }

    async fn all_tokens(&self) -> Result<Vec<(PackageName, UserId, Vec<u8>)>, StoreError> {
        let sql = "SELECT package, user_id, sealed FROM upstream_tokens";
        let query = sqlx::query_as::<_, UpstreamTokenRow>(sql);
        let rows = query.fetch_all(&self.read).await.map_err(store_error)?;
        rows.into_iter().map(UpstreamTokenRow::into_entry).collect()
    }
}
