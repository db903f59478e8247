//! One resumable stream, its recorder and its readers.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use futures_util::{Stream, stream};
use parking_lot::{Mutex, MutexGuard};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;
use toolyard_agent::event::TurnEvent;
use toolyard_protocol::chat::ChatProtocol;

use super::{
    super::{
        begin::ActiveTurn,
        respond::{ChatWriter, HEARTBEAT, vanished_turn_event},
    },
    DETACHED_TIMEOUT, MAX_READERS, MAX_STREAM_BYTES, ResumableStreamTable, TooManyReaders,
};

/// Most bytes that a reader takes at once, unless one chunk is larger. The copy is not counted against the limit.
const MAX_READ_BYTES: usize = 64 * 1024;

/// One resumable stream.
#[derive(Debug)]
pub(super) struct ResumableStream {
    pub(super) protocol: ChatProtocol,
    pub(super) cancel: CancellationToken,
    /// Cancelled when its turn has ended and no longer counts.
    pub(super) turn_ended: CancellationToken,
    buffer: Mutex<ReplayBuffer>,
    /// Bytes of all buffers.
    all_bytes: Arc<AtomicUsize>,
    /// Incremented with every change.
    changes: watch::Sender<u64>,
}

/// Who may read a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplayAudience {
    /// Any client, from the start.
    Anyone,
    /// Only the current readers. Chunks that all of them have read are dropped.
    CurrentReaders,
    /// No new reader: a client has read all of it.
    NoOne,
}

#[derive(Debug)]
struct ReplayBuffer {
    audience: ReplayAudience,
    chunks: VecDeque<Bytes>,
    /// Bytes of `chunks`.
    bytes: usize,
    /// Number of dropped chunks before them, which every reader has.
    dropped: usize,
    /// Number of chunks that each reader has.
    readers: HashMap<u64, usize>,
    /// Number of readers ever. Also the id of the last one.
    readers_joined: u64,
    /// When the last reader left.
    unread_since: Instant,
    /// When the turn ended.
    ended_at: Option<Instant>,
}

impl ReplayBuffer {
    fn push(&mut self, chunk: Bytes) {
        self.bytes += chunk.len();
        self.chunks.push_back(chunk);
    }

    /// Drops chunks that every reader has, unless new readers may join.
    fn drop_read_chunks(&mut self) {
        if self.audience == ReplayAudience::Anyone {
            return;
        }
        let all = self.dropped + self.chunks.len();
        let read_by_all = self.readers.values().min().copied().unwrap_or(all);
        for chunk in self.chunks.drain(..read_by_all - self.dropped) {
            self.bytes -= chunk.len();
        }
        self.dropped = read_by_all;
    }

    fn close_to_new_readers(&mut self) {
        if self.audience == ReplayAudience::Anyone {
            self.audience = ReplayAudience::CurrentReaders;
        }
        self.drop_read_chunks();
    }

    /// Chunks that this reader does not have yet, up to the limit.
    fn take_chunk(&mut self, reader: u64) -> BufferRead {
        let all = self.dropped + self.chunks.len();
        let had = self.readers.get(&reader).copied().unwrap_or(all);
        let (mut fresh, mut bytes) = (Vec::new(), 0);
        for chunk in self.chunks.range(had - self.dropped..) {
            if bytes > 0 && bytes + chunk.len() > MAX_READ_BYTES {
                break;
            }
            bytes += chunk.len();
            fresh.push(chunk.clone());
        }
        self.readers.insert(reader, had + fresh.len());
        let chunk = match &fresh[..] {
            [one] => one.clone(),
            all => all.concat().into(),
        };
        if !chunk.is_empty() {
            self.drop_read_chunks();
            return BufferRead::Chunk(chunk);
        }
        match self.ended_at {
            Some(_) => {
                self.audience = ReplayAudience::NoOne;
                self.drop_read_chunks();
                BufferRead::Finished
            }
            None => BufferRead::Pending,
        }
    }
}

enum BufferRead {
    Chunk(Bytes),
    Pending,
    Finished,
}

impl ResumableStream {
    pub(super) fn new(
        protocol: ChatProtocol,
        turn: &ActiveTurn,
        preamble: Bytes,
        all_bytes: Arc<AtomicUsize>,
    ) -> Arc<Self> {
        let buffer = ReplayBuffer {
            audience: ReplayAudience::Anyone,
            chunks: VecDeque::new(),
            bytes: 0,
            dropped: 0,
            readers: HashMap::new(),
            readers_joined: 0,
            unread_since: Instant::now(),
            ended_at: None,
        };
        let changes = watch::Sender::new(0);
        let replay = Arc::new(Self {
            protocol,
            cancel: turn.cancel.clone(),
            turn_ended: turn.ended.clone(),
            buffer: Mutex::new(buffer),
            all_bytes,
            changes,
        });
        replay.update_buffer(|buffer| buffer.push(preamble));
        replay
    }

    fn lock_buffer(&self) -> MutexGuard<'_, ReplayBuffer> {
        self.buffer.lock()
    }

    /// Changes the buffer and updates the byte count.
    fn update_buffer<T>(&self, change: impl FnOnce(&mut ReplayBuffer) -> T) -> T {
        let mut buffer = self.lock_buffer();
        let before = buffer.bytes;
        let changed = change(&mut buffer);
        match buffer.bytes.checked_sub(before) {
            Some(more) => self.all_bytes.fetch_add(more, Ordering::Relaxed),
            None => self.all_bytes.fetch_sub(before - buffer.bytes, Ordering::Relaxed),
        };
        changed
    }

    fn notify_change(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// When it ended, if it is over and has no reader.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let buffer = self.lock_buffer();
        buffer.ended_at.filter(|_| buffer.readers.is_empty() || buffer.audience == ReplayAudience::NoOne)
    }

    /// Whether a client has read all of it.
    pub(super) fn was_fully_read(&self) -> bool {
        self.lock_buffer().audience == ReplayAudience::NoOne
    }

    /// Stops keeping the stream. Current readers get the rest.
    pub(super) fn stop_keeping(&self) {
        self.update_buffer(ReplayBuffer::close_to_new_readers);
        self.notify_change();
    }

    /// Waits until no new reader may join.
    pub(super) async fn wait_until_unresumable(&self) {
        let mut changes = self.changes.subscribe();
        while self.lock_buffer().audience == ReplayAudience::Anyone && changes.changed().await.is_ok() {}
    }

    /// Records the output of the turn until its end, or until it had no reader for too long.
    pub(super) async fn record_turn(
        &self,
        table: &ResumableStreamTable,
        mut turn: ActiveTurn,
        mut writer: ChatWriter,
    ) {
        let mut changes = self.changes.subscribe();
        loop {
            let (deadline, is_behind) = self.recording_pace();
            // The last output of a cancelled turn is recorded at once, because a stopping server waits for this task.
            let waits = is_behind && !turn.cancel.is_cancelled();
            let event = tokio::select! {
                event = turn.events.recv(), if !waits => event.unwrap_or_else(vanished_turn_event),
                () = turn.cancel.cancelled(), if waits => continue,
                // A reader joined, left or read something.
                Ok(()) = changes.changed() => continue,
                () = sleep_until_deadline(deadline) => {
                    turn.cancel.cancel();
                    turn.events.recv().await.unwrap_or_else(vanished_turn_event)
                }
            };
            let over = matches!(event, TurnEvent::Ends(_));
            self.append_chunk(table, writer.write_event(event), over);
            if over {
                return;
            }
        }
    }

    /// When to cancel for lack of a reader, and whether recording must wait for slow readers.
    fn recording_pace(&self) -> (Option<Instant>, bool) {
        let buffer = self.lock_buffer();
        let is_open = buffer.audience == ReplayAudience::Anyone;
        // A stream that cannot be resumed does not outlive its readers.
        let wait = if is_open { buffer.unread_since + DETACHED_TIMEOUT } else { buffer.unread_since };
        (buffer.readers.is_empty().then_some(wait), !is_open && !buffer.chunks.is_empty())
    }

    fn append_chunk(&self, table: &ResumableStreamTable, chunk: Bytes, over: bool) {
        let is_open = self.update_buffer(|buffer| {
            buffer.push(chunk);
            buffer.ended_at = over.then(Instant::now);
            if buffer.bytes > MAX_STREAM_BYTES {
                buffer.close_to_new_readers();
            }
            buffer.drop_read_chunks();
            buffer.audience == ReplayAudience::Anyone
        });
        // Check without the lock first, because this runs for every chunk.
        if is_open && table.is_over_capacity() && !table.make_room_for_bytes(&mut table.lock_streams()) {
            self.update_buffer(ReplayBuffer::close_to_new_readers);
        }
        self.notify_change();
    }

    /// A new reader from the start. `None` if new readers may no longer join.
    pub(super) fn open_reader(
        self: &Arc<Self>,
    ) -> Result<Option<impl Stream<Item = Bytes> + Send + use<>>, TooManyReaders> {
        let mut buffer = self.lock_buffer();
        match buffer.audience {
            ReplayAudience::CurrentReaders | ReplayAudience::NoOne => Ok(None),
            ReplayAudience::Anyone if buffer.readers.len() >= MAX_READERS => Err(TooManyReaders),
            ReplayAudience::Anyone => Ok(Some(self.add_reader(&mut buffer))),
        }
    }

    /// The first reader.
    pub(super) fn open_first_reader(self: &Arc<Self>) -> impl Stream<Item = Bytes> + Send + use<> {
        self.add_reader(&mut self.lock_buffer())
    }

    fn add_reader(self: &Arc<Self>, buffer: &mut ReplayBuffer) -> impl Stream<Item = Bytes> + Send + use<> {
        buffer.readers_joined += 1;
        let (id, from) = (buffer.readers_joined, buffer.dropped);
        buffer.readers.insert(id, from);
        self.notify_change();
        let reader = ReplayReader { replay: self.clone(), changes: self.changes.subscribe(), id };
        stream::unfold(reader, ReplayReader::next)
    }
}

impl Drop for ResumableStream {
    fn drop(&mut self) {
        self.all_bytes.fetch_sub(self.lock_buffer().bytes, Ordering::Relaxed);
    }
}

async fn sleep_until_deadline(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// A reader of a stream.
struct ReplayReader {
    replay: Arc<ResumableStream>,
    changes: watch::Receiver<u64>,
    id: u64,
}

impl ReplayReader {
    async fn next(mut self) -> Option<(Bytes, Self)> {
        loop {
            self.changes.borrow_and_update();
            match self.replay.update_buffer(|buffer| buffer.take_chunk(self.id)) {
                BufferRead::Chunk(chunk) => {
                    // The recorder may be waiting for this.
                    self.replay.notify_change();
                    return Some((chunk, self));
                }
                // The connection polls for more, so it has taken all chunks before.
                BufferRead::Finished => {
                    self.replay.notify_change();
                    return None;
                }
                BufferRead::Pending => {}
            }
            tokio::select! {
                _ = self.changes.changed() => {}
                () = tokio::time::sleep(HEARTBEAT) => {
                    return Some((Bytes::from_static(ChatWriter::heartbeat(self.replay.protocol)), self));
                }
            }
        }
    }
}

impl Drop for ReplayReader {
    fn drop(&mut self) {
        self.replay.update_buffer(|buffer| {
            buffer.readers.remove(&self.id);
            if buffer.readers.is_empty() {
                buffer.unread_since = Instant::now();
            }
            buffer.drop_read_chunks();
        });
        self.replay.notify_change();
    }
}
