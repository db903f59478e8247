//! The audit log. SQLite has one writer, so entries are numbered in the order of their transactions.

use std::path::Path;

use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use jiff::Timestamp;
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use toolyard_core::{
    audit::{AuditAnchor, AuditDigest, AuditFault, AuditHead, AuditKeys, AuditSummary, ChainVerifier},
    ports::{AuditCursor, AuditEvent, AuditFilter, AuditRecord, AuditStore, StoreError},
};

use super::{OFFLINE_BUSY_TIMEOUT, SqliteStore};
use crate::rows::{
    audit::{AuditAnchorRow, AuditHeadRow, AuditRow, MAX_PAGE},
    store_error, to_i64,
};

/// Every filter is optional.
macro_rules! page_sql {
    ($cursor:literal) => {
        concat!(
            "SELECT * FROM audit_log WHERE (?2 IS NULL OR action = ?2) AND (?3 IS NULL OR actor = ?3)
             AND (?4 IS NULL OR user_id = ?4) AND (?5 IS NULL OR at >= ?5) AND (?6 IS NULL OR at < ?6) AND ",
            $cursor,
            " LIMIT ?7"
        )
    };
}

#[async_trait]
impl AuditStore for SqliteStore {
    async fn append_audit(&self, event: &AuditEvent, keys: &AuditKeys) -> Result<AuditRecord, StoreError> {
        let mut tx = self.begin_write().await?;
        let record = insert_entry(&mut tx, event, keys).await?;
        tx.commit().await.map_err(store_error)?;
        Ok(record)
    }

    async fn list_audit(&self, filter: &AuditFilter) -> Result<Vec<AuditRecord>, StoreError> {
        let (sql, bound) = match filter.cursor {
            AuditCursor::NewestBefore(before) => {
                (page_sql!("(?1 IS NULL OR number < ?1) ORDER BY number DESC"), before)
            }
            AuditCursor::OldestAfter(after) => (page_sql!("number > ?1 ORDER BY number"), Some(after)),
        };
        let query = sqlx::query_as::<_, AuditRow>(sql)
            .bind(bound.map(to_i64))
            .bind(filter.action.map(|action| action.as_str()))
            .bind(filter.actor.as_deref())
            .bind(filter.user.as_ref().map(|user| user.as_str()))
            .bind(filter.since.map(|at| at.as_millisecond()))
            .bind(filter.until.map(|at| at.as_millisecond()))
            .bind(filter.limit.clamp(1, MAX_PAGE));
        let rows = query.fetch_all(&self.read).await.map_err(store_error)?;
        Ok(rows.into_iter().map(AuditRow::into_record).collect())
    }

    async fn prune_audit(&self, before: Timestamp, keys: &AuditKeys, max: u32) -> Result<u64, StoreError> {
        let mut tx = self.begin_write().await?;
        // Clocks of nodes differ, so the first entry that stays decides and not each entry by itself.
        let last = sqlx::query_as::<_, AuditHeadRow>(
            "SELECT number, hash FROM audit_log
             WHERE number < COALESCE((SELECT MIN(number) FROM audit_log WHERE at >= ?1), 9223372036854775807)
             AND number < (SELECT MIN(number) FROM audit_log) + ?2 ORDER BY number DESC LIMIT 1",
        );
        let last = last.bind(before.as_millisecond()).bind(max).fetch_optional(&mut *tx).await;
        let Some(last) = last.map_err(store_error)? else { return Ok(0) };
        let anchor = keys.anchor(last.into_head());
        write_anchor(&mut tx, &anchor).await?;
        let removed = sqlx::query("DELETE FROM audit_log WHERE number <= ?").bind(to_i64(anchor.head.number));
        let removed = removed.execute(&mut *tx).await.map_err(store_error)?.rows_affected();
        tx.commit().await.map_err(store_error)?;
        Ok(removed)
    }

    async fn audit_anchor(&self) -> Result<Option<AuditAnchor>, StoreError> {
        read_anchor(&mut *self.read.acquire().await.map_err(store_error)?).await
    }

    async fn replace_audit_macs(&self, macs: &[(u64, AuditDigest)]) -> Result<(), StoreError> {
        let mut tx = self.begin_write().await?;
        for (number, mac) in macs {
            let query = sqlx::query("UPDATE audit_log SET mac = ? WHERE number = ?");
            let query = query.bind(mac.as_slice()).bind(to_i64(*number));
            query.execute(&mut *tx).await.map_err(store_error)?;
        }
        tx.commit().await.map_err(store_error)
    }

    async fn replace_audit_anchor(&self, anchor: &AuditAnchor) -> Result<(), StoreError> {
        let query = sqlx::query("UPDATE audit_anchor SET mac = ? WHERE number = ? AND hash = ?")
            .bind(anchor.mac.as_slice())
            .bind(to_i64(anchor.head.number))
            .bind(anchor.head.hash.as_slice());
        query.execute(&self.write).await.map(drop).map_err(store_error)
    }
}

async fn insert_entry(
    tx: &mut SqliteConnection,
    event: &AuditEvent,
    keys: &AuditKeys,
) -> Result<AuditRecord, StoreError> {
    let last = sqlx::query_as::<_, AuditHeadRow>(
        "SELECT number, hash FROM (SELECT number, hash FROM audit_log ORDER BY number DESC LIMIT 1)
         UNION ALL SELECT number, hash FROM audit_anchor ORDER BY number DESC LIMIT 1",
    );
    let last = last.fetch_optional(&mut *tx).await.map_err(store_error)?;
    let record = keys.link(last.map_or_else(AuditHead::default, AuditHeadRow::into_head), event);
    let query = sqlx::query(
        "INSERT INTO audit_log (number, at, actor_kind, actor, credential, action, target, user_id, detail, previous, hash, mac)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(to_i64(record.number))
    .bind(record.at)
    .bind(&record.actor_kind)
    .bind(&record.actor)
    .bind(&record.credential)
    .bind(&record.action)
    .bind(&record.target)
    .bind(&record.user)
    .bind(&record.detail)
    .bind(record.previous.as_slice())
    .bind(record.hash.as_slice())
    .bind(record.mac.as_slice());
    query.execute(&mut *tx).await.map_err(store_error)?;
    Ok(record)
}

async fn write_anchor(tx: &mut SqliteConnection, anchor: &AuditAnchor) -> Result<(), StoreError> {
    let query = sqlx::query(
        "INSERT INTO audit_anchor (only_one, number, hash, mac) VALUES (1, ?, ?, ?)
         ON CONFLICT DO UPDATE SET number = excluded.number, hash = excluded.hash, mac = excluded.mac",
    )
    .bind(to_i64(anchor.head.number))
    .bind(anchor.head.hash.as_slice())
    .bind(anchor.mac.as_slice());
    query.execute(tx).await.map(drop).map_err(store_error)
}

async fn read_anchor(connection: &mut SqliteConnection) -> Result<Option<AuditAnchor>, StoreError> {
    let query = sqlx::query_as::<_, AuditAnchorRow>("SELECT number, hash, mac FROM audit_anchor");
    let row = query.fetch_optional(connection).await.map_err(store_error)?;
    Ok(row.map(AuditAnchorRow::into_anchor))
}

async fn connect_to(path: &Path) -> Result<SqliteConnection, StoreError> {
    let options = SqliteConnectOptions::new().filename(path).busy_timeout(OFFLINE_BUSY_TIMEOUT);
    SqliteConnection::connect_with(&options).await.map_err(store_error)
}

/// Appends an entry to the log of a store that another process may have open.
pub(crate) async fn append_offline(
    path: &Path,
    event: &AuditEvent,
    keys: &AuditKeys,
) -> Result<AuditRecord, StoreError> {
    let mut connection = connect_to(path).await?;
    let mut tx = connection.begin_with("BEGIN IMMEDIATE").await.map_err(store_error)?;
    let record = insert_entry(&mut tx, event, keys).await?;
    tx.commit().await.map_err(store_error)?;
    connection.close().await.map_err(store_error)?;
    Ok(record)
}

/// Verifies the log of a store that another process may have open, in one transaction: the log may grow or be pruned meanwhile.
pub(crate) async fn verify_offline(
    path: &Path,
    keys: &AuditKeys,
    expected: Option<AuditHead>,
) -> Result<Result<AuditSummary, AuditFault>, StoreError> {
    let mut connection = connect_to(path).await?;
    let mut tx = connection.begin().await.map_err(store_error)?;
    let mut verifier = match ChainVerifier::new(keys, read_anchor(&mut tx).await?, expected) {
        Ok(verifier) => verifier,
        Err(fault) => return Ok(Err(fault)),
    };
    let mut rows = sqlx::query_as::<_, AuditRow>("SELECT * FROM audit_log ORDER BY number").fetch(&mut *tx);
    while let Some(row) = rows.try_next().await.map_err(store_error)? {
        if let Err(fault) = verifier.check(&row.into_record()) {
            return Ok(Err(fault));
        }
    }
    Ok(verifier.finish())
}
