//! The ledger of both stores: one thread, one connection, one transaction for everything that waits.
//!
//! Records without a key wait a moment to be batched, and are lost if the process is killed before their batch is
//! written. Keys do not wait: they are written together with what is queued, synced to disk, and only then answered
//! (group commit). What cannot be written now, because the disk is full, a lock is held elsewhere or the database is
//! down, is kept and retried.

mod backlog;
mod writer;

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;
use toolyard_core::ports::{CallRecord, ClaimOutcome, KeyClaim, KeyEnd, LedgerBacklog, StoreError};

use self::{
    backlog::Backlog,
    writer::{BatchWriter, WriterInput},
};

type LedgerReply<T> = oneshot::Sender<Result<T, StoreError>>;

enum LedgerCommand {
    Begin(KeyClaim, LedgerReply<ClaimOutcome>),
    End(KeyClaim, KeyEnd, Arc<CallRecord>, LedgerReply<()>),
    Flush(oneshot::Sender<()>),
    Stop(oneshot::Sender<()>),
}

/// Commands that may wait at once; further senders wait.
const MAX_ORDERS: usize = 1_024;

/// What one transaction writes.
#[derive(Default)]
pub(crate) struct LedgerBatch {
    pub(crate) records: Vec<Arc<CallRecord>>,
    /// Written before the claims: a key that ended may be claimed again.
    pub(crate) ends: Vec<(KeyClaim, KeyEnd)>,
    pub(crate) claims: Vec<KeyClaim>,
}

impl LedgerBatch {
    /// Whether it must survive a power loss. Records of calls without a key need not.
    pub(crate) fn has_keys(&self) -> bool {
        !(self.claims.is_empty() && self.ends.is_empty())
    }

    fn is_empty(&self) -> bool {
        self.records.is_empty() && !self.has_keys()
    }
}

/// The database of a ledger. Used by the writer's thread only.
#[async_trait]
pub(crate) trait LedgerDatabase: Send {
    /// Writes a batch in one transaction and returns the outcome of each claim. Durable when it returns, if it has keys.
    async fn commit_batch(&mut self, batch: &LedgerBatch) -> Result<Vec<ClaimOutcome>, sqlx::Error>;
    /// Whether a retry may succeed.
    fn is_transient(&self, error: &sqlx::Error) -> bool;
    /// Drops the connection after a failure; the next batch opens a new one.
    fn reset(&mut self);
    /// Closes the connection.
    async fn close(&mut self);
}

/// How batches are built.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchSettings {
    /// How long a batch may wait for more records.
    pub(crate) delay: Duration,
    /// Records after which a batch is written at once.
    pub(crate) size: usize,
}

/// The handle of the writer.
pub(crate) struct LedgerWriter {
    orders: mpsc::Sender<LedgerCommand>,
    backlog: Arc<Backlog>,
    failing: Arc<AtomicBool>,
}

impl LedgerWriter {
    /// Starts the writer on its own thread and runtime, so that it neither competes with thousands of calls nor blocks
    /// with the workers that run them. `tasks` ends after it.
    pub(crate) fn start(
        database: impl LedgerDatabase + 'static,
        settings: BatchSettings,
        tasks: &TaskTracker,
    ) -> io::Result<Self> {
        let (sender, orders) = mpsc::channel(MAX_ORDERS);
        let backlog = Arc::new(Backlog::new(settings.size));
        let failing = Arc::new(AtomicBool::new(false));
        let to_write = WriterInput { orders, backlog: backlog.clone(), delay: settings.delay };
        let writer = BatchWriter::new(database, to_write, failing.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (ended, end) = oneshot::channel::<()>();
        let writes = move || {
            runtime.block_on(writer.run());
            drop(ended);
        };
        std::thread::Builder::new().name("toolyard-ledger".to_owned()).spawn(writes)?;
        tasks.spawn(async move { drop(end.await) });
        Ok(Self { orders: sender, backlog, failing })
    }

    /// Claims a key. Durable when it returns.
    pub(crate) async fn claim_key(&self, claim: &KeyClaim) -> Result<ClaimOutcome, StoreError> {
        self.send_command(|answer| LedgerCommand::Begin(claim.clone(), answer)).await
    }

    /// Ends a claim and records its call. Durable when it returns.
    pub(crate) async fn end_key(
        &self,
        claim: &KeyClaim,
        end: KeyEnd,
        record: Arc<CallRecord>,
    ) -> Result<(), StoreError> {
        self.send_command(|answer| LedgerCommand::End(claim.clone(), end, record, answer)).await
    }

    /// Queues a record; waits only while the backlog is full.
    pub(crate) async fn record_call(&self, record: Arc<CallRecord>) {
        if self.orders.is_closed() {
            self.backlog.count_lost(1, "a call ended after the ledger was closed");
            return;
        }
        self.backlog.push(record).await;
    }

    /// Returns when everything queued before is written, or failed to be.
    pub(crate) async fn flush(&self) {
        let (done, written) = oneshot::channel();
        if self.orders.send(LedgerCommand::Flush(done)).await.is_ok() {
            let _ = written.await;
        }
    }

    pub(crate) async fn stop(&self) {
        let (done, written) = oneshot::channel();
        if self.orders.send(LedgerCommand::Stop(done)).await.is_ok() {
            let _ = written.await;
        }
    }

    /// The state of the backlog.
    pub(crate) fn backlog(&self) -> LedgerBacklog {
        LedgerBacklog {
            unwritten: self.backlog.unwritten_count(),
            lost: self.backlog.lost_count(),
            is_full: self.backlog.is_overfull() || self.is_failing() && self.backlog.is_full(),
        }
    }

    /// Returns an error if the last batch could not be written.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match self.is_failing() {
            true => Err(StoreError::Failed("the records of calls cannot be written".to_owned())),
            false => Ok(()),
        }
    }

    fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    async fn send_command<T>(
        &self,
        order: impl FnOnce(LedgerReply<T>) -> LedgerCommand,
    ) -> Result<T, StoreError> {
        let gone = || StoreError::Failed("the ledger is closed".to_owned());
        let (answer, answered) = oneshot::channel();
        self.orders.send(order(answer)).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}
