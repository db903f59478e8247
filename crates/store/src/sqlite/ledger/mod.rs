//! The ledger: one thread, one connection, one transaction for everything that waits.
//!
//! Records without a key wait a moment to be batched, and are lost if the process is killed before their batch is
//! written. Keys do not wait: they are written together with what is queued, synced to disk, and only then answered
//! (group commit). What cannot be written now, because the disk is full or the write lock is held elsewhere, is kept
//! and retried.

mod backlog;
mod statements;
#[cfg(test)]
mod tests;
mod writer;

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use sqlx::{SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;
use toolyard_core::ports::{CallRecord, ClaimOutcome, KeyClaim, KeyEnd, Ledger, LedgerBacklog, StoreError};

use self::{
    backlog::Backlog,
    writer::{BatchWriter, WriterInput},
};
use super::{SqliteStore, StoreSettings, node::NodeId};

type LedgerReply<T> = oneshot::Sender<Result<T, StoreError>>;

enum LedgerCommand {
    Begin(KeyClaim, LedgerReply<ClaimOutcome>),
    End(KeyClaim, KeyEnd, Arc<CallRecord>, LedgerReply<()>),
    Flush(oneshot::Sender<()>),
    Stop(oneshot::Sender<()>),
}

/// Commands that may wait at once; further senders wait.
const MAX_ORDERS: usize = 1_024;

/// The handle of the writer.
pub(super) struct LedgerWriter {
    orders: mpsc::Sender<LedgerCommand>,
    backlog: Arc<Backlog>,
    failing: Arc<AtomicBool>,
}

impl LedgerWriter {
    /// Starts the writer on its own thread and runtime, so that it neither competes with thousands of calls nor blocks
    /// with the workers that run them. `tasks` ends after it.
    pub(super) fn start(
        connection: SqliteConnection,
        options: SqliteConnectOptions,
        node: NodeId,
        settings: &StoreSettings,
        tasks: &TaskTracker,
    ) -> io::Result<Self> {
        let (sender, orders) = mpsc::channel(MAX_ORDERS);
        let backlog = Arc::new(Backlog::new(settings.batch_size));
        let failing = Arc::new(AtomicBool::new(false));
        let to_write = WriterInput { orders, backlog: backlog.clone(), delay: settings.batch_delay };
        let writer = BatchWriter::new(connection, options, node, to_write, failing.clone());
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

    /// Returns when everything queued before is written, or failed to be.
    pub(super) async fn flush(&self) {
        let (done, written) = oneshot::channel();
        if self.orders.send(LedgerCommand::Flush(done)).await.is_ok() {
            let _ = written.await;
        }
    }

    pub(super) async fn stop(&self) {
        let (done, written) = oneshot::channel();
        if self.orders.send(LedgerCommand::Stop(done)).await.is_ok() {
            let _ = written.await;
        }
    }

    /// The state of the backlog.
    pub(super) fn backlog(&self) -> LedgerBacklog {
        LedgerBacklog {
            unwritten: self.backlog.unwritten_count(),
            lost: self.backlog.lost_count(),
            is_full: self.backlog.is_overfull() || self.is_failing() && self.backlog.is_full(),
        }
    }

    /// Whether the last batch could not be written.
    pub(super) fn is_failing(&self) -> bool {
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

#[async_trait]
impl Ledger for SqliteStore {
    async fn claim_key(&self, claim: &KeyClaim) -> Result<ClaimOutcome, StoreError> {
        self.ledger.send_command(|answer| LedgerCommand::Begin(claim.clone(), answer)).await
    }

    async fn end_key(
        &self,
        claim: &KeyClaim,
        end: KeyEnd,
        record: Arc<CallRecord>,
    ) -> Result<(), StoreError> {
        self.ledger.send_command(|answer| LedgerCommand::End(claim.clone(), end, record, answer)).await
    }

    async fn record_call(&self, record: Arc<CallRecord>) {
        if self.ledger.orders.is_closed() {
            self.ledger.backlog.count_lost(1, "a call ended after the ledger was closed");
            return;
        }
        self.ledger.backlog.push(record).await;
    }
}
