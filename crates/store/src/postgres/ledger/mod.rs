//! Writes batches of the ledger to PostgreSQL: a handful of statements, however many calls a batch has.

mod keys;
mod records;

use std::{io, sync::Arc, time::Duration};

use async_trait::async_trait;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, postgres::PgConnectOptions};
use toolyard_core::ports::{CallRecord, ClaimOutcome, KeyClaim, KeyEnd, Ledger, StoreError};

use self::{
    keys::{claim_keys, end_keys, lock_keys},
    records::insert_records,
};
use super::{PostgresStore, node::NodeMark};
use crate::ledger::{LedgerBatch, LedgerDatabase};

/// The ledger's own connection.
pub(super) struct PostgresLedger {
    connection: Option<PgConnection>,
    options: PgConnectOptions,
    node: NodeMark,
    /// How long a batch may take. The database limits each statement, but a host that vanished says nothing.
    timeout: Duration,
}

impl PostgresLedger {
    pub(super) const fn new(options: PgConnectOptions, node: NodeMark, timeout: Duration) -> Self {
        Self { connection: None, options, node, timeout }
    }

    async fn write_batch(&mut self, batch: &LedgerBatch) -> Result<Vec<ClaimOutcome>, sqlx::Error> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(self.options.connect().await?),
        };
        let mut tx = connection.begin().await?;
        if !batch.has_keys() {
            // Survives a killed process, but not necessarily a power loss of the database.
            sqlx::query("SET LOCAL synchronous_commit = off").execute(&mut *tx).await?;
        }
        insert_records(&mut tx, &batch.records).await?;
        let mut claims = Vec::new();
        if batch.has_keys() {
            lock_keys(&mut tx, batch).await?;
            end_keys(&mut tx, &batch.ends).await?;
            claims = claim_keys(&mut tx, &batch.claims, self.node).await?;
        }
        tx.commit().await?;
        Ok(claims)
    }
}

#[async_trait]
impl LedgerDatabase for PostgresLedger {
    async fn commit_batch(&mut self, batch: &LedgerBatch) -> Result<Vec<ClaimOutcome>, sqlx::Error> {
        let written = tokio::time::timeout(self.timeout, self.write_batch(batch)).await;
        written.unwrap_or_else(|_| Err(sqlx::Error::Io(io::ErrorKind::TimedOut.into())))
    }

    /// Everything but what the data itself causes: PostgreSQL may be restarted, failed over, full, or busy.
    fn is_transient(&self, error: &sqlx::Error) -> bool {
        match error {
            // Class 22: data exception. Class 23: constraint violation. Class 42: the statement is wrong.
            sqlx::Error::Database(error) => {
                let code = error.code().unwrap_or_default();
                !["22", "23", "42"].iter().any(|class| code.starts_with(class))
            }
            sqlx::Error::Encode(_) | sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. } => false,
            _ => true,
        }
    }

    fn reset(&mut self) {
        self.connection = None;
    }

    async fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            let _ = connection.close().await;
        }
    }
}

#[async_trait]
impl Ledger for PostgresStore {
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
