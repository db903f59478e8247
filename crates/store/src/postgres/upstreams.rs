//! Upstream MCP servers: their records, offers and users' tokens.

use async_trait::async_trait;
use sqlx::PgConnection;
use toolyard_core::ports::{
    NewUpstreamRecord, OfferStore, QuotaKind, StoreError, StoredOffer, UpstreamRecord, UpstreamStore,
    UpstreamTokenStore, UpstreamWrite,
};
use toolyard_protocol::{PackageName, UserId};

use super::{PostgresStore, WriteLock, changes::latest_version};
use crate::rows::{
    parse_column, store_error, to_i64, to_json, to_u64,
    upstreams::{MAX_UPSTREAMS, OfferRow, UpstreamRow, UpstreamTokenRow, details_as_app},
    user_column,
};

/// Writes the upstream's row among the apps. False if it may not replace what exists. An upstream has no key and no signing
/// secret: empty values never match.
async fn write_app(tx: &mut PgConnection, new: &NewUpstreamRecord) -> Result<bool, StoreError> {
    let details = to_json("app", &details_as_app(&new.upstream.details))?;
    let (package, at) = (new.package.as_str(), new.at.as_millisecond());
    let query = match new.write {
        UpstreamWrite::Add => sqlx::query!(
            "INSERT INTO apps (package, details, owner, key_hash, signing, source, created_at, updated_at)
             VALUES ($1, $2, $3, ''::BYTEA, ''::BYTEA, 'upstream', $4, $4) ON CONFLICT (package) DO NOTHING",
            package,
            details,
            new.owner,
            at
        ),
        UpstreamWrite::Change => sqlx::query!(
            "UPDATE apps SET details = $2, updated_at = $4
             WHERE package = $1 AND owner = $3 AND source = 'upstream'",
            package,
            details,
            new.owner,
            at
        ),
        UpstreamWrite::Configure => sqlx::query!(
            "INSERT INTO apps (package, details, owner, key_hash, signing, source, created_at, updated_at)
             VALUES ($1, $2, $3, ''::BYTEA, ''::BYTEA, 'upstream', $4, $4)
             ON CONFLICT (package) DO UPDATE SET details = $2, owner = $3, updated_at = $4
             WHERE apps.source = 'upstream'",
            package,
            details,
            new.owner,
            at
        ),
    };
    Ok(query.execute(tx).await.map_err(store_error)?.rows_affected() > 0)
}

#[async_trait]
impl UpstreamStore for PostgresStore {
    async fn put_upstream(&self, new: NewUpstreamRecord) -> Result<bool, StoreError> {
        let mut tx = self.begin(&[WriteLock::Package(&new.package), WriteLock::Owner(&new.owner)]).await?;
        if !write_app(&mut tx, &new).await? {
            return Ok(false);
        }
        let package = new.package.as_str();
        if new.moved {
            let gone = sqlx::query!("DELETE FROM upstream_tokens WHERE package = $1", package);
            gone.execute(&mut *tx).await.map_err(store_error)?;
        }
        let is_known = sqlx::query_scalar!(
            r#"SELECT EXISTS (SELECT 1 FROM upstreams WHERE package = $1) AS "is_known!""#,
            package
        );
        if !new.upstream.managed && !is_known.fetch_one(&mut *tx).await.map_err(store_error)? {
            let others = sqlx::query_scalar!(
                r#"SELECT COUNT(*) AS "count!" FROM upstreams u JOIN apps a ON a.package = u.package
                   WHERE a.owner = $1 AND NOT u.managed"#,
                new.owner
            );
            let others = to_u64(others.fetch_one(&mut *tx).await.map_err(store_error)?);
            QuotaKind::UpstreamsPerDeveloper.check(others + 1, self.quotas.load().upstreams_per_developer)?;
        }
        let upsert = sqlx::query!(
            "INSERT INTO upstreams (package, details, sealed, for_all, managed, disabled) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (package) DO UPDATE SET details = $2, sealed = $3, for_all = $4, managed = $5, disabled = $6",
            package,
            to_json("upstream", &new.upstream.details)?,
            new.upstream.sealed,
            new.upstream.details.for_all,
            new.upstream.managed,
            new.upstream.disabled
        );
        upsert.execute(&mut *tx).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)?;
        Ok(true)
    }

    async fn list_upstreams(&self) -> Result<Vec<(PackageName, String, UpstreamRecord)>, StoreError> {
        let query = sqlx::query_as!(
            UpstreamRow,
            "SELECT a.package, a.owner, u.details, u.sealed, u.managed, u.disabled
             FROM upstreams u JOIN apps a ON a.package = u.package ORDER BY a.package LIMIT $1",
            MAX_UPSTREAMS
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.into_iter().map(UpstreamRow::into_entry).collect()
    }

    async fn list_shared_upstreams(&self) -> Result<Vec<PackageName>, StoreError> {
        let query = sqlx::query_scalar!(
            "SELECT a.package FROM upstreams u JOIN apps a ON a.package = u.package
             WHERE u.for_all AND NOT u.disabled ORDER BY a.created_at, a.package LIMIT $1",
            MAX_UPSTREAMS
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.iter().map(|package| parse_column("package name", package)).collect()
    }
}

#[async_trait]
impl OfferStore for PostgresStore {
    async fn last_offer(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
    ) -> Result<Option<StoredOffer>, StoreError> {
        let query = sqlx::query_as!(
            OfferRow,
            "SELECT lists, hash, fetched_at FROM offers WHERE package = $1 AND user_id = $2",
            package.as_str(),
            user_column(user)
        );
        let row = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        row.map(OfferRow::into_offer).transpose()
    }

    async fn offer_version(&self) -> Result<u64, StoreError> {
        latest_version(&mut *self.connect().await?).await
    }

    async fn save_offer(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
        offer: StoredOffer,
        read_since: u64,
    ) -> Result<bool, StoreError> {
        // The log tells what changed since: an offer that was read for an authorization that is gone must not come back. A log
        // that no longer reaches back that far cannot tell, so the offer is refused. Every writer of what the offer depends on
        // holds one of these locks until its change is committed, so the log has all of them.
        let locks: Vec<_> =
            std::iter::once(WriteLock::Package(package)).chain(user.map(WriteLock::User)).collect();
        let mut tx = self.begin(&locks).await?;
        let insert = sqlx::query!(
            "INSERT INTO offers (package, user_id, hash, lists, fetched_at)
             SELECT package, $2::TEXT, $3::TEXT, $4::TEXT, $5::BIGINT FROM upstreams WHERE package = $1
                 AND NOT EXISTS (SELECT 1 FROM changes WHERE version > $6 AND (
                     (kind IN ('upstream_changed', 'upstream_removed') AND subject = $1)
                     OR (kind IN ('authorization_changed', 'app_uninstalled') AND subject = $2 AND detail = $1)))
                 AND (SELECT version FROM pruned_changes) <= $6
             ON CONFLICT (package, user_id) DO UPDATE SET hash = $3, lists = $4, fetched_at = $5",
            package.as_str(),
            user_column(user),
            offer.hash,
            to_json("offer", &offer.offer)?,
            offer.at.as_millisecond(),
            to_i64(read_since)
        );
        let saved = insert.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0;
        tx.commit().await.map_err(store_error)?;
        Ok(saved)
    }
}

#[async_trait]
impl UpstreamTokenStore for PostgresStore {
    async fn find_token(&self, package: &PackageName, user: &UserId) -> Result<Option<Vec<u8>>, StoreError> {
        let query = sqlx::query_scalar!(
            "SELECT sealed FROM upstream_tokens WHERE package = $1 AND user_id = $2",
            package.as_str(),
            user.as_str()
        );
        query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)
    }

    async fn set_token(
        &self,
        package: &PackageName,
        user: &UserId,
        sealed: Option<Vec<u8>>,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin(&[WriteLock::Package(package)]).await?;
        let query = match sealed {
            Some(sealed) => sqlx::query!(
                "INSERT INTO upstream_tokens (package, user_id, sealed)
                 SELECT package, $2::TEXT, $3::BYTEA FROM upstreams WHERE package = $1
                 ON CONFLICT (package, user_id) DO UPDATE SET sealed = $3",
                package.as_str(),
                user.as_str(),
                sealed
            ),
            None => sqlx::query!(
                "DELETE FROM upstream_tokens WHERE package = $1 AND user_id = $2",
                package.as_str(),
                user.as_str()
            ),
        };
        let is_set = query.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0;
        tx.commit().await.map_err(store_error)?;
        Ok(is_set)
    }

    async fn replace_token(
        &self,
        package: &PackageName,
        user: &UserId,
        sealed: Vec<u8>,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin(&[WriteLock::Package(package)]).await?;
        let query = sqlx::query!(
            "UPDATE upstream_tokens SET sealed = $1 WHERE package = $2 AND user_id = $3",
            sealed,
            package.as_str(),
            user.as_str()
        );
        let is_replaced = query.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0;
        tx.commit().await.map_err(store_error)?;
        Ok(is_replaced)
    }

    async fn all_tokens(&self) -> Result<Vec<(PackageName, UserId, Vec<u8>)>, StoreError> {
        let query = sqlx::query_as!(UpstreamTokenRow, "SELECT package, user_id, sealed FROM upstream_tokens");
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.into_iter().map(UpstreamTokenRow::into_entry).collect()
    }
}
