//! One answer that can be heard again, whoever writes it down, and whoever reads it.

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

/// What a reader takes at once, unless one piece is larger: it is a copy, which nobody counts.
const MAX_READ_BYTES: usize = 64 * 1024;

/// One answer.
#[derive(Debug)]
pub(super) struct ResumableStream {
    pub(super) protocol: ChatProtocol,
    pub(super) cancel: CancellationToken,
    buffer: Mutex<ReplayBuffer>,
    /// Bytes of all answers.
    all_bytes: Arc<AtomicUsize>,
    /// Raised with everything that happens.
    changes: watch::Sender<u64>,
}

/// Who may hear an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplayAudience {
    /// Whoever comes, from its first word.
    Anyone,
    /// Those who listen: what they have heard is not kept.
    CurrentReaders,
    /// Nobody more: somebody has all of it.
    NoOne,
}

#[derive(Debug)]
struct ReplayBuffer {
    audience: ReplayAudience,
    chunks: VecDeque<Bytes>,
    /// Of the pieces that are here.
    bytes: usize,
    /// Pieces before those, which every listener has.
    dropped: usize,
    /// How many pieces each reader has.
    readers: HashMap<u64, usize>,
    /// How many readers there ever were.
    readers_joined: u64,
    /// Since when nobody reads.
    unread_since: Instant,
    /// When it ended.
    ended_at: Option<Instant>,
}

impl ReplayBuffer {
    fn push(&mut self, piece: Bytes) {
        self.bytes += piece.len();
        self.chunks.push_back(piece);
    }

    /// Drops what every listener has, where nobody else may come.
    fn drop_read_chunks(&mut self) {
        if self.audience == ReplayAudience::Anyone {
            return;
        }
        let all = self.dropped + self.chunks.len();
        let heard = self.readers.values().min().copied().unwrap_or(all);
        for piece in self.chunks.drain(..heard - self.dropped) {
            self.bytes -= piece.len();
        }
        self.dropped = heard;
    }

    fn close_to_new_readers(&mut self) {
        if self.audience == ReplayAudience::Anyone {
            self.audience = ReplayAudience::CurrentReaders;
        }
        self.drop_read_chunks();
    }

    /// What this reader does not have yet, as much as one takes at once.
    fn take_chunk(&mut self, reader: u64) -> BufferRead {
        let all = self.dropped + self.chunks.len();
        let had = self.readers.get(&reader).copied().unwrap_or(all);
        let (mut fresh, mut bytes) = (Vec::new(), 0);
        for piece in self.chunks.range(had - self.dropped..) {
            if bytes > 0 && bytes + piece.len() > MAX_READ_BYTES {
                break;
            }
            bytes += piece.len();
            fresh.push(piece.clone());
        }
        self.readers.insert(reader, had + fresh.len());
        let piece = match &fresh[..] {
            [one] => one.clone(),
            all => all.concat().into(),
        };
        if !piece.is_empty() {
            self.drop_read_chunks();
            return BufferRead::Chunk(piece);
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
        cancel: CancellationToken,
        hello: Bytes,
        all_bytes: Arc<AtomicUsize>,
    ) -> Arc<Self> {
        let said = ReplayBuffer {
            audience: ReplayAudience::Anyone,
            chunks: VecDeque::new(),
            bytes: 0,
            dropped: 0,
            readers: HashMap::new(),
            readers_joined: 0,
            unread_since: Instant::now(),
            ended_at: None,
        };
        let news = watch::Sender::new(0);
        let replay = Arc::new(Self { protocol, cancel, buffer: Mutex::new(said), all_bytes, changes: news });
        replay.update_buffer(|said| said.push(hello));
        replay
    }

    fn lock_buffer(&self) -> MutexGuard<'_, ReplayBuffer> {
        self.buffer.lock()
    }

    /// Changes what is here, and counts it.
    fn update_buffer<T>(&self, change: impl FnOnce(&mut ReplayBuffer) -> T) -> T {
        let mut said = self.lock_buffer();
        let before = said.bytes;
        let changed = change(&mut said);
        match said.bytes.checked_sub(before) {
            Some(more) => self.all_bytes.fetch_add(more, Ordering::Relaxed),
            None => self.all_bytes.fetch_sub(before - said.bytes, Ordering::Relaxed),
        };
        changed
    }

    fn notify_change(&self) {
        self.changes.send_modify(|news| *news += 1);
    }

    /// Since when it is over and nobody reads it.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let said = self.lock_buffer();
        said.ended_at.filter(|_| said.readers.is_empty() || said.audience == ReplayAudience::NoOne)
    }

    /// Whether somebody has all of it.
    pub(super) fn was_fully_read(&self) -> bool {
        self.lock_buffer().audience == ReplayAudience::NoOne
    }

    /// Keeps it no longer. Those who listen hear the rest.
    pub(super) fn stop_keeping(&self) {
        self.update_buffer(ReplayBuffer::close_to_new_readers);
        self.notify_change();
    }

    /// Waits until nobody more may hear it.
    pub(super) async fn wait_until_unresumable(&self) {
        let mut news = self.changes.subscribe();
        while self.lock_buffer().audience == ReplayAudience::Anyone && news.changed().await.is_ok() {}
    }

    /// Writes down what the turn says, until its end or until nobody has read for a while.
    pub(super) async fn record_turn(
        &self,
        shelf: &ResumableStreamTable,
        mut begun: ActiveTurn,
        mut writer: ChatWriter,
    ) {
        let mut news = self.changes.subscribe();
        loop {
            let (alone, is_behind) = self.recording_pace();
            // The few last words of a turn that was ended are not waited with: a server that stops waits for this.
            let waits = is_behind && !begun.cancel.is_cancelled();
            let event = tokio::select! {
                event = begun.events.recv(), if !waits => event.unwrap_or_else(vanished_turn_event),
                () = begun.cancel.cancelled(), if waits => continue,
                // Somebody came, went or took something.
                Ok(()) = news.changed() => continue,
                () = sleep_until_deadline(alone) => {
                    begun.cancel.cancel();
                    begun.events.recv().await.unwrap_or_else(vanished_turn_event)
                }
            };
            let over = matches!(event, TurnEvent::Ends(_));
            self.append_chunk(shelf, writer.write_event(event), over);
            if over {
                return;
            }
        }
    }

    /// Until when it goes on without a reader, and whether it has to wait for one.
    fn recording_pace(&self) -> (Option<Instant>, bool) {
        let said = self.lock_buffer();
        let for_all = said.audience == ReplayAudience::Anyone;
        // What nobody can come back for is not worth a wait.
        let wait = if for_all { said.unread_since + DETACHED_TIMEOUT } else { said.unread_since };
        (said.readers.is_empty().then_some(wait), !for_all && !said.chunks.is_empty())
    }

    fn append_chunk(&self, shelf: &ResumableStreamTable, piece: Bytes, over: bool) {
        let is_for_all = self.update_buffer(|said| {
            said.push(piece);
            said.ended_at = over.then(Instant::now);
            if said.bytes > MAX_STREAM_BYTES {
                said.close_to_new_readers();
            }
            said.drop_read_chunks();
            said.audience == ReplayAudience::Anyone
        });
        // The lock of all is not taken for every word.
        if is_for_all && shelf.is_over_capacity() && !shelf.make_room_for_bytes(&mut shelf.lock_streams()) {
            self.update_buffer(ReplayBuffer::close_to_new_readers);
        }
        self.notify_change();
    }

    /// The answer from its first word, for one more reader. None where it is not for others any more.
    pub(super) fn open_reader(
        self: &Arc<Self>,
    ) -> Result<Option<impl Stream<Item = Bytes> + Send + use<>>, TooManyReaders> {
        let mut said = self.lock_buffer();
        match said.audience {
            ReplayAudience::CurrentReaders | ReplayAudience::NoOne => Ok(None),
            ReplayAudience::Anyone if said.readers.len() >= MAX_READERS => Err(TooManyReaders),
            ReplayAudience::Anyone => Ok(Some(self.add_reader(&mut said))),
        }
    }

    /// The same for the first one.
    pub(super) fn open_first_reader(self: &Arc<Self>) -> impl Stream<Item = Bytes> + Send + use<> {
        self.add_reader(&mut self.lock_buffer())
    }

    fn add_reader(self: &Arc<Self>, said: &mut ReplayBuffer) -> impl Stream<Item = Bytes> + Send + use<> {
        said.readers_joined += 1;
        let (id, from) = (said.readers_joined, said.dropped);
        said.readers.insert(id, from);
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

/// Somebody who reads an answer.
struct ReplayReader {
    replay: Arc<ResumableStream>,
    changes: watch::Receiver<u64>,
    id: u64,
}

impl ReplayReader {
    async fn next(mut self) -> Option<(Bytes, Self)> {
        loop {
            self.changes.borrow_and_update();
            match self.replay.update_buffer(|said| said.take_chunk(self.id)) {
                BufferRead::Chunk(piece) => {
                    // Whoever writes it down may wait for this.
                    self.replay.notify_change();
                    return Some((piece, self));
                }
                // More was asked for, so whoever carries it to the client has taken all the rest.
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
        self.replay.update_buffer(|said| {
            said.readers.remove(&self.id);
            if said.readers.is_empty() {
                said.unread_since = Instant::now();
            }
            said.drop_read_chunks();
        });
        self.replay.notify_change();
    }
}
