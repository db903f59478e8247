//! The audit log. Every node numbers entries under the same lock, so they are in one order.

use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use jiff::Timestamp;
use sqlx::{Connection as _, PgConnection};
use toolyard_core::{
    audit::{AuditAnchor, AuditDigest, AuditFault, AuditHead, AuditKeys, AuditSummary, ChainVerifier},
    ports::{AuditCursor, AuditEvent, AuditFilter, AuditRecord, AuditStore, StoreError},
};

use super::{PostgresSettings, PostgresStore, WriteLock, take_locks};
use crate::rows::{
    audit::{AuditAnchorRow, AuditHeadRow, AuditRow, MAX_PAGE},
    store_error, to_i64,
};

const LOCK: WriteLock<'static> = WriteLock::Table("audit_log");

#[async_trait]
impl AuditStore for PostgresStore {
    async fn append_audit(&self, event: &AuditEvent, keys: &AuditKeys) -> Result<AuditRecord, StoreError> {
        let mut tx = self.begin(&[LOCK]).await?;
        let record = insert_entry(&mut tx, event, keys).await?;
        tx.commit().await.map_err(store_error)?;
        Ok(record)
    }

    async fn list_audit(&self, filter: &AuditFilter) -> Result<Vec<AuditRecord>, StoreError> {
        // One of the two is NULL, and with it its order.
        let (before, after) = match filter.cursor {
            AuditCursor::NewestBefore(before) => (Some(before.map_or(i64::MAX, to_i64)), None),
            AuditCursor::OldestAfter(after) => (None, Some(to_i64(after))),
        };
        let query = sqlx::query_as!(
            AuditRow,
            "SELECT number, at, actor_kind, actor, credential, action, target, user_id, detail, previous, hash, mac
             FROM audit_log WHERE ($1::BIGINT IS NULL OR number < $1) AND ($2::BIGINT IS NULL OR number > $2)
             AND ($3::TEXT IS NULL OR action = $3) AND ($4::TEXT IS NULL OR actor = $4)
             AND ($5::TEXT IS NULL OR user_id = $5) AND ($6::BIGINT IS NULL OR at >= $6)
             AND ($7::BIGINT IS NULL OR at < $7)
             ORDER BY CASE WHEN $1::BIGINT IS NOT NULL THEN number END DESC,
                 CASE WHEN $2::BIGINT IS NOT NULL THEN number END LIMIT $8",
            before,
            after,
            filter.action.map(|action| action.as_str()),
            filter.actor.as_deref(),
            filter.user.as_ref().map(|user| user.as_str()),
            filter.since.map(|at| at.as_millisecond()),
            filter.until.map(|at| at.as_millisecond()),
            i64::from(filter.limit.clamp(1, MAX_PAGE))
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(rows.into_iter().map(AuditRow::into_record).collect())
    }

    async fn prune_audit(&self, before: Timestamp, keys: &AuditKeys, max: u32) -> Result<u64, StoreError> {
        let mut tx = self.begin(&[LOCK]).await?;
        // Clocks of nodes differ, so the first entry that stays decides and not each entry by itself.
        let last = sqlx::query_as!(
            AuditHeadRow,
            "SELECT number, hash FROM audit_log
             WHERE number < COALESCE((SELECT MIN(number) FROM audit_log WHERE at >= $1), 9223372036854775807)
             AND number < (SELECT MIN(number) FROM audit_log) + $2::BIGINT ORDER BY number DESC LIMIT 1",
            before.as_millisecond(),
            i64::from(max)
        );
        let last = last.fetch_optional(&mut *tx).await.map_err(store_error)?;
        let Some(last) = last else { return Ok(0) };
        let anchor = keys.anchor(last.into_head());
        write_anchor(&mut tx, &anchor).await?;
        let removed = sqlx::query!("DELETE FROM audit_log WHERE number <= $1", to_i64(anchor.head.number));
        let removed = removed.execute(&mut *tx).await.map_err(store_error)?.rows_affected();
        tx.commit().await.map_err(store_error)?;
        Ok(removed)
    }

    async fn audit_anchor(&self) -> Result<Option<AuditAnchor>, StoreError> {
        read_anchor(&mut *self.connect().await?).await
    }

    async fn replace_audit_macs(&self, macs: &[(u64, AuditDigest)]) -> Result<(), StoreError> {
        let numbers: Vec<i64> = macs.iter().map(|(number, _)| to_i64(*number)).collect();
        let macs: Vec<Vec<u8>> = macs.iter().map(|(_, mac)| mac.to_vec()).collect();
        let query = sqlx::query!(
            "UPDATE audit_log SET mac = renewed.mac
             FROM UNNEST($1::BIGINT[], $2::BYTEA[]) AS renewed (number, mac) WHERE audit_log.number = renewed.number",
            &numbers,
            &macs
        );
        query.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error)
    }

    async fn replace_audit_anchor(&self, anchor: &AuditAnchor) -> Result<(), StoreError> {
        let query = sqlx::query!(
            "UPDATE audit_anchor SET mac = $1 WHERE number = $2 AND hash = $3",
            anchor.mac.as_slice(),
            to_i64(anchor.head.number),
            anchor.head.hash.as_slice()
        );
        query.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error)
    }
}

async fn insert_entry(
    tx: &mut PgConnection,
    event: &AuditEvent,
    keys: &AuditKeys,
) -> Result<AuditRecord, StoreError> {
    let last = sqlx::query_as!(
        AuditHeadRow,
        r#"SELECT number AS "number!", hash AS "hash!" FROM (
               (SELECT number, hash FROM audit_log ORDER BY number DESC LIMIT 1)
               UNION ALL SELECT number, hash FROM audit_anchor) AS ends
           ORDER BY number DESC LIMIT 1"#
    );
    let last = last.fetch_optional(&mut *tx).await.map_err(store_error)?;
    let record = keys.link(last.map_or_else(AuditHead::default, AuditHeadRow::into_head), event);
    let query = sqlx::query!(
        "INSERT INTO audit_log (number, at, actor_kind, actor, credential, action, target, user_id, detail, previous, hash, mac)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        to_i64(record.number),
        record.at,
        record.actor_kind,
        record.actor,
        record.credential,
        record.action,
        record.target,
        record.user,
        record.detail,
        record.previous.as_slice(),
        record.hash.as_slice(),
        record.mac.as_slice()
    );
    query.execute(&mut *tx).await.map_err(store_error)?;
    Ok(record)
}

async fn write_anchor(tx: &mut PgConnection, anchor: &AuditAnchor) -> Result<(), StoreError> {
    let query = sqlx::query!(
        "INSERT INTO audit_anchor (only_one, number, hash, mac) VALUES (1, $1, $2, $3)
         ON CONFLICT (only_one) DO UPDATE SET number = excluded.number, hash = excluded.hash, mac = excluded.mac",
        to_i64(anchor.head.number),
        anchor.head.hash.as_slice(),
        anchor.mac.as_slice()
    );
    query.execute(tx).await.map(drop).map_err(store_error)
}

async fn read_anchor(connection: &mut PgConnection) -> Result<Option<AuditAnchor>, StoreError> {
    let query = sqlx::query_as!(AuditAnchorRow, "SELECT number, hash, mac FROM audit_anchor");
    let row = query.fetch_optional(connection).await.map_err(store_error)?;
    Ok(row.map(AuditAnchorRow::into_anchor))
}

/// Appends an entry to the log of a store that a server may have open.
pub(crate) async fn append_offline(
    settings: &PostgresSettings,
    event: &AuditEvent,
    keys: &AuditKeys,
) -> Result<AuditRecord, StoreError> {
    let mut connection = settings.connect_once().await.map_err(store_error)?;
    let mut tx = connection.begin().await.map_err(store_error)?;
    take_locks(&mut tx, &[LOCK]).await?;
    let record = insert_entry(&mut tx, event, keys).await?;
    tx.commit().await.map_err(store_error)?;
    connection.close().await.map_err(store_error)?;
    Ok(record)
}

/// Verifies the log of a store that a server may have open, in one transaction: the log may grow or be pruned meanwhile.
pub(crate) async fn verify_offline(
    settings: &PostgresSettings,
    keys: &AuditKeys,
    expected: Option<AuditHead>,
) -> Result<Result<AuditSummary, AuditFault>, StoreError> {
    let mut connection = settings.connect_once().await.map_err(store_error)?;
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    let mut tx = connection.begin_with(begin).await.map_err(store_error)?;
    let mut verifier = match ChainVerifier::new(keys, read_anchor(&mut tx).await?, expected) {
        Ok(verifier) => verifier,
        Err(fault) => return Ok(Err(fault)),
    };
    let query = sqlx::query_as!(
        AuditRow,
        "SELECT number, at, actor_kind, actor, credential, action, target, user_id, detail, previous, hash, mac
         FROM audit_log ORDER BY number"
    );
    let mut rows = query.fetch(&mut *tx);
    while let Some(row) = rows.try_next().await.map_err(store_error)? {
        if let Err(fault) = verifier.check(&row.into_record()) {
            return Ok(Err(fault));
        }
    }
    Ok(verifier.finish())
}
