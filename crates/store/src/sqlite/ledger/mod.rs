//! Writes batches of the ledger to SQLite.

mod statements;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use toolyard_core::ports::{CallRecord, ClaimOutcome, KeyClaim, KeyEnd, Ledger, StoreError};

use self::statements::insert_records;
use super::{
    SqliteStore,
    call_keys::{begin_key, end_key},
    node::NodeId,
};
use crate::ledger::{LedgerBatch, LedgerDatabase};

/// How durable a commit must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Durability {
    /// Survives a killed process.
    Normal,
    /// Survives a power loss.
    Full,
}

/// The ledger's own connection.
pub(super) struct SqliteLedger {
    /// None after a failure: SQLite rolled back by itself, but the driver still counts the transaction as open.
    connection: Option<SqliteConnection>,
    options: SqliteConnectOptions,
    node: NodeId,
    synced: Option<Durability>,
}

impl SqliteLedger {
    pub(super) fn new(connection: SqliteConnection, options: SqliteConnectOptions, node: NodeId) -> Self {
        Self { connection: Some(connection), options, node, synced: None }
    }
}

#[async_trait]
impl LedgerDatabase for SqliteLedger {
    async fn commit_batch(&mut self, batch: &LedgerBatch) -> Result<Vec<ClaimOutcome>, sqlx::Error> {
        let sync = if batch.has_keys() { Durability::Full } else { Durability::Normal };
        let synced = self.synced.replace(sync) == Some(sync);
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(self.options.connect().await?),
        };
        if !synced {
            let pragma = match sync {
                Durability::Normal => "PRAGMA synchronous = NORMAL",
                Durability::Full => "PRAGMA synchronous = FULL",
            };
            sqlx::query(pragma).execute(&mut *connection).await?;
        }
        let mut tx = connection.begin_with("BEGIN IMMEDIATE").await?;
        insert_records(&mut tx, &batch.records).await?;
        for (claim, end) in &batch.ends {
            end_key(&mut tx, claim, end).await?;
        }
        let mut claims = Vec::with_capacity(batch.claims.len());
        for claim in &batch.claims {
            claims.push(begin_key(&mut tx, claim, self.node).await?);
        }
        tx.commit().await?;
        Ok(claims)
    }

    /// The lock is held elsewhere, or the disk is full or gone. Other errors are permanent.
    fn is_transient(&self, error: &sqlx::Error) -> bool {
        const BUSY: u32 = 5;
        const LOCKED: u32 = 6;
        const NO_MEMORY: u32 = 7;
        const READ_ONLY: u32 = 8;
        const INTERRUPTED: u32 = 9;
        const IO: u32 = 10;
        const FULL: u32 = 13;
        const CANNOT_OPEN: u32 = 14;
        const PROTOCOL: u32 = 15;
        match error {
            sqlx::Error::Database(error) => {
                // The lowest byte is the primary code; the others extend it.
                let code = error.code().and_then(|code| code.parse::<u32>().ok()).map(|code| code & 0xff);
                let passing =
                    [BUSY, LOCKED, NO_MEMORY, READ_ONLY, INTERRUPTED, IO, FULL, CANNOT_OPEN, PROTOCOL];
                code.is_some_and(|code| passing.contains(&code))
            }
            sqlx::Error::Encode(_) => false,
            _ => true,
        }
    }

    fn reset(&mut self) {
        self.connection = None;
        self.synced = None;
    }

    async fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            let _ = connection.close().await;
        }
    }
}

#[async_trait]
impl Ledger for SqliteStore {
    async fn claim_key(&self, claim: &KeyClaim) -> Result<ClaimOutcome, StoreError> {
        self.ledger.claim_key(claim).await
    }

    async fn end_key(
        &self,
        claim: &KeyClaim,
        end: KeyEnd,
        record: Arc<CallRecord>,
    ) -> Result<(), StoreError> {
        self.ledger.end_key(claim, end, record).await
    }

    async fn record_call(&self, record: Arc<CallRecord>) {
        self.ledger.record_call(record).await;
    }
}
