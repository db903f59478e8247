//! The writer of the ledger: one task, one connection, one transaction for everything that waits.
//!
//! Records without a key wait a moment for company and are lost if the process is killed before their batch is written.
//! Keys do not wait: what came meanwhile is written with them, synced to disk, and only then answered (group commit).

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteArguments};
use tokio::{
    sync::{Notify, mpsc, oneshot},
    time::sleep,
};
use tokio_util::task::TaskTracker;
use toolyard_core::ports::{CallRecord, Claim, KeyClaim, KeyEnd, Ledger, StoreError};

use super::{
    SqliteStore, StoreSettings,
    call_keys::{begin_key, end_key},
    call_log::bind_record,
    failed,
    node::LedgerNode,
};

/// Rows in one statement. Statements of this shape are prepared once.
const ROWS_AT_ONCE: usize = 32;

type Answer<T> = oneshot::Sender<Result<T, StoreError>>;

enum Order {
    Begin(KeyClaim, Answer<Claim>),
    End(KeyClaim, KeyEnd, Arc<CallRecord>, Answer<()>),
    Flush(oneshot::Sender<()>),
    Stop(oneshot::Sender<()>),
}

/// Orders that wait at once; whoever gives one more waits for a place.
const MAX_ORDERS: usize = 1_024;
/// Full batches that may wait before calls wait.
const MAX_WAITING_BATCHES: usize = 8;

/// Records that wait to be written. A call puts its record here and goes on; the writer is woken once a batch.
struct Waiting {
    records: Mutex<Vec<Arc<CallRecord>>>,
    batch_size: usize,
    /// The first one came.
    begun: Notify,
    /// A batch is full.
    full: Notify,
    /// There is room again.
    drained: Notify,
}

impl Waiting {
    async fn put(&self, record: Arc<CallRecord>) {
        loop {
            let drained = self.drained.notified();
            {
                let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
                if records.len() < self.batch_size.saturating_mul(MAX_WAITING_BATCHES) {
                    records.push(record);
                    match records.len() {
                        1 => self.begun.notify_one(),
                        len if len == self.batch_size => self.full.notify_one(),
                        _ => {}
                    }
                    return;
                }
            }
            drained.await;
        }
    }

    fn take(&self) -> Vec<Arc<CallRecord>> {
        let records = mem::take(&mut *self.records.lock().unwrap_or_else(PoisonError::into_inner));
        self.drained.notify_waiters();
        records
    }
}

/// The way to the writer.
pub(super) struct LedgerWriter {
    orders: mpsc::Sender<Order>,
    waiting: Arc<Waiting>,
}

impl LedgerWriter {
    pub(super) fn start(
        connection: SqliteConnection,
        node: LedgerNode,
        settings: &StoreSettings,
        tasks: &TaskTracker,
    ) -> Self {
        let (sender, orders) = mpsc::channel(MAX_ORDERS);
        let waiting = Arc::new(Waiting {
            records: Mutex::default(),
            batch_size: settings.batch_size.max(1),
            begun: Notify::new(),
            full: Notify::new(),
            drained: Notify::new(),
        });
        let writer = Writer {
            connection,
            orders,
            waiting: waiting.clone(),
            delay: settings.batch_delay,
            synced: None,
            node,
        };
        tasks.spawn(writer.run());
        Self { orders: sender, waiting }
    }

    /// Returns when everything queued before is written.
    pub(super) async fn flush(&self) {
        let (done, written) = oneshot::channel();
        if self.orders.send(Order::Flush(done)).await.is_ok() {
            let _ = written.await;
        }
    }

    pub(super) async fn stop(&self) {
        let (done, written) = oneshot::channel();
        if self.orders.send(Order::Stop(done)).await.is_ok() {
            let _ = written.await;
        }
    }

    async fn ask<T>(&self, order: impl FnOnce(Answer<T>) -> Order) -> Result<T, StoreError> {
        let gone = || StoreError::Failed("the ledger is closed".to_owned());
        let (answer, answered) = oneshot::channel();
        self.orders.send(order(answer)).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

#[async_trait]
impl Ledger for SqliteStore {
    async fn begin(&self, claim: &KeyClaim) -> Result<Claim, StoreError> {
        self.ledger.ask(|answer| Order::Begin(claim.clone(), answer)).await
    }

    async fn end(&self, claim: &KeyClaim, end: KeyEnd, record: Arc<CallRecord>) -> Result<(), StoreError> {
        self.ledger.ask(|answer| Order::End(claim.clone(), end, record, answer)).await
    }

    async fn record(&self, record: Arc<CallRecord>) {
        if self.ledger.orders.is_closed() {
            tracing::error!("a call ended after the ledger was closed and is not recorded");
            return;
        }
        self.ledger.waiting.put(record).await;
    }
}

/// How safe a commit must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sync {
    /// Survives a kill of the process.
    Normal,
    /// Survives a loss of power.
    Full,
}

struct Writer {
    connection: SqliteConnection,
    orders: mpsc::Receiver<Order>,
    waiting: Arc<Waiting>,
    delay: Duration,
    synced: Option<Sync>,
    node: LedgerNode,
}

/// What one transaction holds, and who waits for it.
#[derive(Default)]
struct Batch {
    records: Vec<Arc<CallRecord>>,
    begins: Vec<(KeyClaim, Answer<Claim>)>,
    ends: Vec<(KeyClaim, KeyEnd, Answer<()>)>,
    waiting: Vec<oneshot::Sender<()>>,
    stop: bool,
}

impl Batch {
    fn add(&mut self, order: Order) {
        match order {
            Order::Begin(claim, answer) => self.begins.push((claim, answer)),
            Order::End(claim, end, record, answer) => {
                self.records.push(record);
                self.ends.push((claim, end, answer));
            }
            Order::Flush(done) => self.waiting.push(done),
            Order::Stop(done) => {
                self.waiting.push(done);
                self.stop = true;
            }
        }
    }

    /// What was waited for may have been taken by the batch before.
    fn is_empty(&self) -> bool {
        self.records.is_empty() && self.begins.is_empty() && self.ends.is_empty() && self.waiting.is_empty()
    }
}

impl Writer {
    async fn run(mut self) {
        loop {
            let Some(batch) = self.collect().await else { break };
            let stop = batch.stop;
            if !batch.is_empty() {
                self.write(batch).await;
            }
            if stop {
                break;
            }
        }
        let _ = self.connection.close().await;
    }

    /// Waits for something to write. Orders do not wait; records alone wait a moment for company.
    async fn collect(&mut self) -> Option<Batch> {
        let mut batch = Batch::default();
        let first = tokio::select! {
            order = self.orders.recv() => Some(order?),
            () = self.waiting.begun.notified() => tokio::select! {
                order = self.orders.recv() => Some(order?),
                () = self.waiting.full.notified() => None,
                () = sleep(self.delay) => None,
            },
        };
        if let Some(first) = first {
            batch.add(first);
            while let Ok(order) = self.orders.try_recv() {
                batch.add(order);
            }
        }
        batch.records.extend(self.waiting.take());
        Some(batch)
    }

    async fn write(&mut self, batch: Batch) {
        let Batch { records, begins, ends, waiting, .. } = batch;
        let sync = if begins.is_empty() && ends.is_empty() { Sync::Normal } else { Sync::Full };
        match self.commit(sync, &records, &begins, &ends).await {
            Ok(claims) => {
                for ((_, answer), claim) in begins.into_iter().zip(claims) {
                    let _ = answer.send(Ok(claim));
                }
                ends.into_iter().for_each(|(_, _, answer)| drop(answer.send(Ok(()))));
            }
            Err(error) => {
                tracing::error!(%error, lost = records.len(), "a batch of the ledger could not be written");
                begins.into_iter().for_each(|(_, answer)| drop(answer.send(Err(error.clone()))));
                ends.into_iter().for_each(|(_, _, answer)| drop(answer.send(Err(error.clone()))));
            }
        }
        for done in waiting {
            let _ = done.send(());
        }
    }

    async fn commit(
        &mut self,
        sync: Sync,
        records: &[Arc<CallRecord>],
        begins: &[(KeyClaim, Answer<Claim>)],
        ends: &[(KeyClaim, KeyEnd, Answer<()>)],
    ) -> Result<Vec<Claim>, StoreError> {
        self.set_sync(sync).await?;
        let mut tx = self.connection.begin_with("BEGIN IMMEDIATE").await.map_err(failed)?;
        insert_records(&mut tx, records).await?;
        for (claim, end, _) in ends {
            end_key(&mut tx, claim, end).await?;
        }
        let mut claims = Vec::with_capacity(begins.len());
        for (claim, _) in begins {
            claims.push(begin_key(&mut tx, claim, &self.node).await?);
        }
        tx.commit().await.map_err(failed)?;
        Ok(claims)
    }

    async fn set_sync(&mut self, sync: Sync) -> Result<(), StoreError> {
        if self.synced != Some(sync) {
            let pragma = match sync {
                Sync::Normal => "PRAGMA synchronous = NORMAL",
                Sync::Full => "PRAGMA synchronous = FULL",
            };
            sqlx::query(pragma).execute(&mut self.connection).await.map_err(failed)?;
            self.synced = Some(sync);
        }
        Ok(())
    }
}

const COLUMNS: &str =
    "INSERT INTO calls (id, user, tool, package, source, door, caller, error, replayed, started_at,
    duration_us, steps, bytes_in, bytes_out, trace, error_message) VALUES ";
const ROW: &str = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

async fn insert_records(tx: &mut SqliteConnection, records: &[Arc<CallRecord>]) -> Result<(), StoreError> {
    let (many, rest) = records.as_chunks::<ROWS_AT_ONCE>();
    for rows in many {
        insert_rows(tx, rows).await?;
    }
    for row in rest {
        insert_rows(tx, std::slice::from_ref(row)).await?;
    }
    Ok(())
}

async fn insert_rows(tx: &mut SqliteConnection, rows: &[Arc<CallRecord>]) -> Result<(), StoreError> {
    let mut sql = String::with_capacity(COLUMNS.len() + rows.len() * (ROW.len() + 1));
    sql.push_str(COLUMNS);
    for index in 0..rows.len() {
        sql.push_str(if index > 0 { "," } else { "" });
        sql.push_str(ROW);
    }
    // Call ids are ours and random; a second row of the same id would be a replayed write of the same record.
    sql.push_str(" ON CONFLICT DO NOTHING");
    let mut arguments = SqliteArguments::default();
    for record in rows {
        bind_record(&mut arguments, record)?;
    }
    let query = sqlx::query_with(sqlx::AssertSqlSafe(sql), arguments);
    query.execute(tx).await.map(drop).map_err(failed)
}
