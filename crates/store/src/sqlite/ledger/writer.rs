//! The writer of the ledger.

use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::{
    sync::{mpsc, oneshot},
    time::sleep,
};
use toolyard_core::ports::{CallRecord, ClaimOutcome, KeyClaim, KeyEnd, StoreError};

use super::{
    super::{
        call_keys::{begin_key, end_key},
        node::NodeId,
    },
    LedgerCommand, LedgerReply,
    backlog::Backlog,
    statements::insert_records,
};

/// How long to wait before a failed write is retried.
const RETRY_PAUSE: Duration = Duration::from_millis(250);
/// Attempts of a writer that has to stop. The store may be broken permanently.
const LAST_TRIES: usize = 3;

/// How durable a commit must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Durability {
    /// Survives a killed process.
    Normal,
    /// Survives a power loss.
    Full,
}

/// The inputs of the writer.
pub(super) struct WriterInput {
    pub(super) orders: mpsc::Receiver<LedgerCommand>,
    pub(super) backlog: Arc<Backlog>,
    /// How long records wait to be batched.
    pub(super) delay: Duration,
}

/// Writes batches over one connection.
pub(super) struct BatchWriter {
    /// None after a failure: SQLite rolled back by itself, but the driver still counts the transaction as open.
    connection: Option<SqliteConnection>,
    options: SqliteConnectOptions,
    node: NodeId,
    input: WriterInput,
    synced: Option<Durability>,
    unwritten: UnwrittenBatch,
    failing: Arc<AtomicBool>,
}

/// What could not be written yet.
#[derive(Default)]
struct UnwrittenBatch {
    records: Vec<Arc<CallRecord>>,
    ends: Vec<(KeyClaim, KeyEnd)>,
}

/// The content of one transaction, and who waits for it.
#[derive(Default)]
struct WriteBatch {
    records: Vec<Arc<CallRecord>>,
    begins: Vec<(KeyClaim, LedgerReply<ClaimOutcome>)>,
    ends: Vec<(KeyClaim, KeyEnd)>,
    /// Replies for the last of `ends`, in order. Retried ends have none.
    ended: Vec<LedgerReply<()>>,
    waiting: Vec<oneshot::Sender<()>>,
    stop: bool,
}

impl WriteBatch {
    fn add(&mut self, order: LedgerCommand) {
        match order {
            LedgerCommand::Begin(claim, answer) => self.begins.push((claim, answer)),
            LedgerCommand::End(claim, end, record, answer) => {
                self.records.push(record);
                self.ends.push((claim, end));
                self.ended.push(answer);
            }
            LedgerCommand::Flush(done) => self.waiting.push(done),
            LedgerCommand::Stop(done) => {
                self.waiting.push(done);
                self.stop = true;
            }
        }
    }

    fn has_writes(&self) -> bool {
        !(self.records.is_empty() && self.begins.is_empty() && self.ends.is_empty())
    }
}

impl BatchWriter {
    pub(super) fn new(
        connection: SqliteConnection,
        options: SqliteConnectOptions,
        node: NodeId,
        input: WriterInput,
        failing: Arc<AtomicBool>,
    ) -> Self {
        let (connection, synced, unwritten) = (Some(connection), None, UnwrittenBatch::default());
        Self { connection, options, node, input, synced, unwritten, failing }
    }

    pub(super) async fn run(mut self) {
        loop {
            let mut batch = self.collect_batch().await;
            let (stop, waiting) = (batch.stop, mem::take(&mut batch.waiting));
            self.write_batch(batch).await;
            if stop || !waiting.is_empty() {
                // A flush covers everything that was queued before it.
                self.write_rest(if stop { LAST_TRIES } else { 1 }).await;
            }
            if stop {
                let lost = self.unwritten.records.len();
                self.input.backlog.count_lost(lost, "the server stopped before they could be written");
                if let Some(connection) = self.connection.take() {
                    let _ = connection.close().await;
                }
            }
            for done in waiting {
                let _ = done.send(());
            }
            if stop {
                return;
            }
        }
    }

    /// Waits for something to write. Commands are taken at once; records alone wait a moment to be batched.
    async fn collect_batch(&mut self) -> WriteBatch {
        let first = if self.has_unwritten() {
            tokio::select! {
                order = self.input.orders.recv() => Some(order),
                () = sleep(RETRY_PAUSE) => None,
            }
        } else if self.input.backlog.has_queued() {
            self.input.orders.try_recv().ok().map(Some)
        } else {
            tokio::select! {
                order = self.input.orders.recv() => Some(order),
                () = self.input.backlog.begun.notified() => tokio::select! {
                    order = self.input.orders.recv() => Some(order),
                    () = self.input.backlog.full.notified() => None,
                    () = sleep(self.input.delay) => None,
                },
            }
        };
        let mut batch = WriteBatch::default();
        match first {
            Some(Some(order)) => batch.add(order),
            // All senders are gone.
            Some(None) => batch.stop = true,
            None => {}
        }
        while let Ok(order) = self.input.orders.try_recv() {
            batch.add(order);
        }
        self.fill_batch(&mut batch);
        batch
    }

    fn has_unwritten(&self) -> bool {
        !self.unwritten.records.is_empty()
    }

    /// Adds what could not be written before, and what is queued.
    fn fill_batch(&mut self, batch: &mut WriteBatch) {
        let UnwrittenBatch { mut records, mut ends } = mem::take(&mut self.unwritten);
        records.append(&mut batch.records);
        ends.append(&mut batch.ends);
        records.extend(self.input.backlog.take_batch(records.len()));
        (batch.records, batch.ends) = (records, ends);
    }

    /// Writes what is still queued, as far as possible.
    async fn write_rest(&mut self, mut tries: usize) {
        while self.has_unwritten() || self.input.backlog.has_queued() {
            if self.has_unwritten() {
                tries -= 1;
                if tries == 0 {
                    return;
                }
                sleep(RETRY_PAUSE).await;
            }
            let mut batch = WriteBatch::default();
            self.fill_batch(&mut batch);
            self.write_batch(batch).await;
        }
    }

    async fn write_batch(&mut self, batch: WriteBatch) {
        if !batch.has_writes() {
            return;
        }
        match self.commit_batch(&batch).await {
            Ok(claims) => {
                // Before the replies: a caller that got its reply must see this state.
                self.input.backlog.set_taken(0);
                if self.failing.swap(false, Ordering::Relaxed) {
                    tracing::info!("ledger writes recovered");
                }
                let WriteBatch { begins, ended, .. } = batch;
                for ((_, answer), claim) in begins.into_iter().zip(claims) {
                    let _ = answer.send(Ok(claim));
                }
                ended.into_iter().for_each(|answer| drop(answer.send(Ok(()))));
            }
            Err(error) => self.keep_for_retry(batch, &error),
        }
    }

    /// Keeps a failed batch for a retry. Callers do not wait for it: a key that could not be claimed is refused, and a
    /// call that ran gets its reply.
    fn keep_for_retry(&mut self, batch: WriteBatch, error: &sqlx::Error) {
        self.connection = None;
        self.synced = None;
        let failure = StoreError::Failed(error.to_string());
        let WriteBatch { records, begins, ends, ended, .. } = batch;
        if !self.failing.swap(true, Ordering::Relaxed) {
            tracing::error!(%error, records = records.len(), "ledger write failed; retrying");
        }
        if is_transient(error) {
            self.input.backlog.set_taken(records.len());
            self.unwritten = UnwrittenBatch { records, ends };
        } else {
            self.input.backlog.count_lost(records.len(), &error.to_string());
            self.input.backlog.set_taken(0);
        }
        begins.into_iter().for_each(|(_, answer)| drop(answer.send(Err(failure.clone()))));
        ended.into_iter().for_each(|answer| drop(answer.send(Err(failure.clone()))));
    }

    async fn commit_batch(&mut self, batch: &WriteBatch) -> Result<Vec<ClaimOutcome>, sqlx::Error> {
        let sync = if batch.begins.is_empty() && batch.ends.is_empty() {
            Durability::Normal
        } else {
            Durability::Full
        };
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
        let mut claims = Vec::with_capacity(batch.begins.len());
        for (claim, _) in &batch.begins {
            claims.push(begin_key(&mut tx, claim, self.node).await?);
        }
        tx.commit().await?;
        Ok(claims)
    }
}

/// Whether a retry may succeed: the lock is held elsewhere, or the disk is full or gone. Other errors are permanent.
fn is_transient(error: &sqlx::Error) -> bool {
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
            let passing = [BUSY, LOCKED, NO_MEMORY, READ_ONLY, INTERRUPTED, IO, FULL, CANNOT_OPEN, PROTOCOL];
            code.is_some_and(|code| passing.contains(&code))
        }
        sqlx::Error::Encode(_) => false,
        _ => true,
    }
}
