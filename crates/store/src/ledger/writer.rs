//! The writer of the ledger.

use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{mpsc, oneshot},
    time::sleep,
};
use toolyard_core::ports::{CallRecord, ClaimOutcome, KeyClaim, KeyEnd, StoreError};

use super::{LedgerBatch, LedgerCommand, LedgerDatabase, LedgerReply, backlog::Backlog};

/// How long to wait before a failed write is retried.
const RETRY_PAUSE: Duration = Duration::from_millis(250);
/// Attempts of a writer that has to stop. The store may be broken permanently.
const LAST_TRIES: usize = 3;

/// The inputs of the writer.
pub(super) struct WriterInput {
    pub(super) orders: mpsc::Receiver<LedgerCommand>,
    pub(super) backlog: Arc<Backlog>,
    /// How long records wait to be batched.
    pub(super) delay: Duration,
}

/// Writes batches over one connection.
pub(super) struct BatchWriter<D> {
    database: D,
    input: WriterInput,
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
struct PendingBatch {
    content: LedgerBatch,
    /// Replies for the claims, in order.
    claimed: Vec<LedgerReply<ClaimOutcome>>,
    /// Replies for the last of the ends, in order. Retried ends have none.
    ended: Vec<LedgerReply<()>>,
    waiting: Vec<oneshot::Sender<()>>,
    stop: bool,
}

impl PendingBatch {
    fn add(&mut self, order: LedgerCommand) {
        match order {
            LedgerCommand::Begin(claim, answer) => {
                self.content.claims.push(claim);
                self.claimed.push(answer);
            }
            LedgerCommand::End(claim, end, record, answer) => {
                self.content.records.push(record);
                self.content.ends.push((claim, end));
                self.ended.push(answer);
            }
            LedgerCommand::Flush(done) => self.waiting.push(done),
            LedgerCommand::Stop(done) => {
                self.waiting.push(done);
                self.stop = true;
            }
        }
    }
}

impl<D: LedgerDatabase> BatchWriter<D> {
    pub(super) fn new(database: D, input: WriterInput, failing: Arc<AtomicBool>) -> Self {
        Self { database, input, unwritten: UnwrittenBatch::default(), failing }
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
                self.database.close().await;
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
    async fn collect_batch(&mut self) -> PendingBatch {
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
        let mut batch = PendingBatch::default();
        match first {
            Some(Some(order)) => batch.add(order),
            // All senders are gone.
            Some(None) => batch.stop = true,
            None => {}
        }
        while let Ok(order) = self.input.orders.try_recv() {
            batch.add(order);
        }
        self.fill_batch(&mut batch.content);
        batch
    }

    fn has_unwritten(&self) -> bool {
        !(self.unwritten.records.is_empty() && self.unwritten.ends.is_empty())
    }

    /// Adds what could not be written before, and what is queued.
    fn fill_batch(&mut self, batch: &mut LedgerBatch) {
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
            let mut batch = PendingBatch::default();
            self.fill_batch(&mut batch.content);
            self.write_batch(batch).await;
        }
    }

    async fn write_batch(&mut self, batch: PendingBatch) {
        if batch.content.is_empty() {
            return;
        }
        match self.database.commit_batch(&batch.content).await {
            Ok(claims) => {
                // Before the replies: a caller that got its reply must see this state.
                self.input.backlog.set_taken(0);
                if self.failing.swap(false, Ordering::Relaxed) {
                    tracing::info!("ledger writes recovered");
                }
                for (answer, claim) in batch.claimed.into_iter().zip(claims) {
                    let _ = answer.send(Ok(claim));
                }
                batch.ended.into_iter().for_each(|answer| drop(answer.send(Ok(()))));
            }
            Err(error) => self.keep_for_retry(batch, &error),
        }
    }

    /// Keeps a failed batch for a retry. Callers do not wait for it: a key that could not be claimed is refused, and a
    /// call that ran gets its reply. A commit whose reply was lost may have claimed the keys after all, so they are released.
    fn keep_for_retry(&mut self, batch: PendingBatch, error: &sqlx::Error) {
        self.database.reset();
        let failure = StoreError::Failed(error.to_string());
        let PendingBatch { content: LedgerBatch { records, mut ends, claims }, claimed, ended, .. } = batch;
        ends.extend(claims.into_iter().map(|claim| (claim, KeyEnd::Release)));
        if !self.failing.swap(true, Ordering::Relaxed) {
            tracing::error!(%error, records = records.len(), "ledger write failed; retrying");
        }
        if self.database.is_transient(error) {
            self.input.backlog.set_taken(records.len());
            self.unwritten = UnwrittenBatch { records, ends };
        } else {
            self.input.backlog.count_lost(records.len(), &error.to_string());
            self.input.backlog.set_taken(0);
        }
        claimed.into_iter().for_each(|answer| drop(answer.send(Err(failure.clone()))));
        ended.into_iter().for_each(|answer| drop(answer.send(Err(failure.clone()))));
    }
}
