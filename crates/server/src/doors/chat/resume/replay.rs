//! One answer that can be heard again, whoever writes it down, and whoever reads it.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use futures_util::{Stream, stream};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;
use toolyard_agent::event::TurnEvent;
use toolyard_protocol::chat::ChatProtocol;

use super::{
    super::{
        begin::Begun,
        respond::{HEARTBEAT, Writer, broken},
    },
    ALONE, MAX_BYTES, MAX_READERS, Shelf, TooManyReaders,
};

/// What a reader takes at once, unless one piece is larger: it is a copy, which nobody counts.
const MAX_TAKEN: usize = 64 * 1024;

/// One answer.
#[derive(Debug)]
pub(super) struct Replay {
    pub(super) protocol: ChatProtocol,
    pub(super) cancel: CancellationToken,
    said: Mutex<Said>,
    /// Bytes of all answers.
    all_bytes: Arc<AtomicUsize>,
    /// Raised with everything that happens.
    news: watch::Sender<u64>,
}

/// Who may hear an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum For {
    /// Whoever comes, from its first word.
    All,
    /// Those who listen: what they have heard is not kept.
    Listeners,
    /// Nobody more: somebody has all of it.
    Nobody,
}

#[derive(Debug)]
struct Said {
    audience: For,
    pieces: VecDeque<Bytes>,
    /// Of the pieces that are here.
    bytes: usize,
    /// Pieces before those, which every listener has.
    gone: usize,
    /// How many pieces each reader has.
    readers: HashMap<u64, usize>,
    /// How many readers there ever were.
    joined: u64,
    /// Since when nobody reads.
    alone: Instant,
    /// When it ended.
    over: Option<Instant>,
}

impl Said {
    fn push(&mut self, piece: Bytes) {
        self.bytes += piece.len();
        self.pieces.push_back(piece);
    }

    /// Drops what every listener has, where nobody else may come.
    fn forget(&mut self) {
        if self.audience == For::All {
            return;
        }
        let all = self.gone + self.pieces.len();
        let heard = self.readers.values().min().copied().unwrap_or(all);
        for piece in self.pieces.drain(..heard - self.gone) {
            self.bytes -= piece.len();
        }
        self.gone = heard;
    }

    fn only_for_listeners(&mut self) {
        if self.audience == For::All {
            self.audience = For::Listeners;
        }
        self.forget();
    }

    /// What this reader does not have yet, as much as one takes at once.
    fn take(&mut self, reader: u64) -> Taken {
        let all = self.gone + self.pieces.len();
        let had = self.readers.get(&reader).copied().unwrap_or(all);
        let (mut fresh, mut bytes) = (Vec::new(), 0);
        for piece in self.pieces.range(had - self.gone..) {
            if bytes > 0 && bytes + piece.len() > MAX_TAKEN {
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
            self.forget();
            return Taken::Piece(piece);
        }
        match self.over {
            Some(_) => {
                self.audience = For::Nobody;
                self.forget();
                Taken::Over
            }
            None => Taken::Nothing,
        }
    }
}

enum Taken {
    Piece(Bytes),
    Nothing,
    Over,
}

impl Replay {
    pub(super) fn new(
        protocol: ChatProtocol,
        cancel: CancellationToken,
        hello: Bytes,
        all_bytes: Arc<AtomicUsize>,
    ) -> Arc<Self> {
        let said = Said {
            audience: For::All,
            pieces: VecDeque::new(),
            bytes: 0,
            gone: 0,
            readers: HashMap::new(),
            joined: 0,
            alone: Instant::now(),
            over: None,
        };
        let news = watch::Sender::new(0);
        let replay = Arc::new(Self { protocol, cancel, said: Mutex::new(said), all_bytes, news });
        replay.change(|said| said.push(hello));
        replay
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is here, and counts it.
    fn change<T>(&self, change: impl FnOnce(&mut Said) -> T) -> T {
        let mut said = self.said();
        let before = said.bytes;
        let changed = change(&mut said);
        match said.bytes.checked_sub(before) {
            Some(more) => self.all_bytes.fetch_add(more, Ordering::Relaxed),
            None => self.all_bytes.fetch_sub(before - said.bytes, Ordering::Relaxed),
        };
        changed
    }

    fn tell(&self) {
        self.news.send_modify(|news| *news += 1);
    }

    /// Since when it is over and nobody reads it.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let said = self.said();
        said.over.filter(|_| said.readers.is_empty() || said.audience == For::Nobody)
    }

    /// Whether somebody has all of it.
    pub(super) fn was_told(&self) -> bool {
        self.said().audience == For::Nobody
    }

    /// Keeps it no longer. Those who listen hear the rest.
    pub(super) fn give_up(&self) {
        self.change(Said::only_for_listeners);
        self.tell();
    }

    /// Waits until nobody more may hear it.
    pub(super) async fn is_of_no_use(&self) {
        let mut news = self.news.subscribe();
        while self.said().audience == For::All && news.changed().await.is_ok() {}
    }

    /// Writes down what the turn says, until its end or until nobody has read for a while.
    pub(super) async fn record(&self, shelf: &Shelf, mut begun: Begun, mut writer: Writer) {
        let mut news = self.news.subscribe();
        loop {
            let (alone, is_behind) = self.pace();
            // The few last words of a turn that was ended are not waited with: a server that stops waits for this.
            let waits = is_behind && !begun.cancel.is_cancelled();
            let event = tokio::select! {
                event = begun.events.recv(), if !waits => event.unwrap_or_else(broken),
                () = begun.cancel.cancelled(), if waits => continue,
                // Somebody came, went or took something.
                Ok(()) = news.changed() => continue,
                () = until(alone) => {
                    begun.cancel.cancel();
                    begun.events.recv().await.unwrap_or_else(broken)
                }
            };
            let over = matches!(event, TurnEvent::Ends(_));
            self.add(shelf, writer.write(event), over);
            if over {
                return;
            }
        }
    }

    /// Until when it goes on without a reader, and whether it has to wait for one.
    fn pace(&self) -> (Option<Instant>, bool) {
        let said = self.said();
        let for_all = said.audience == For::All;
        // What nobody can come back for is not worth a wait.
        let wait = if for_all { said.alone + ALONE } else { said.alone };
        (said.readers.is_empty().then_some(wait), !for_all && !said.pieces.is_empty())
    }

    fn add(&self, shelf: &Shelf, piece: Bytes, over: bool) {
        let is_for_all = self.change(|said| {
            said.push(piece);
            said.over = over.then(Instant::now);
            if said.bytes > MAX_BYTES {
                said.only_for_listeners();
            }
            said.forget();
            said.audience == For::All
        });
        // The lock of all is not taken for every word.
        if is_for_all && shelf.is_too_full() && !shelf.has_bytes(&mut shelf.answers()) {
            self.change(Said::only_for_listeners);
        }
        self.tell();
    }

    /// The answer from its first word, for one more reader. None where it is not for others any more.
    pub(super) fn read(
        self: &Arc<Self>,
    ) -> Result<Option<impl Stream<Item = Bytes> + Send + use<>>, TooManyReaders> {
        let mut said = self.said();
        match said.audience {
            For::Listeners | For::Nobody => Ok(None),
            For::All if said.readers.len() >= MAX_READERS => Err(TooManyReaders),
            For::All => Ok(Some(self.reader(&mut said))),
        }
    }

    /// The same for the first one.
    pub(super) fn join(self: &Arc<Self>) -> impl Stream<Item = Bytes> + Send + use<> {
        self.reader(&mut self.said())
    }

    fn reader(self: &Arc<Self>, said: &mut Said) -> impl Stream<Item = Bytes> + Send + use<> {
        said.joined += 1;
        let (id, from) = (said.joined, said.gone);
        said.readers.insert(id, from);
        self.tell();
        let reader = Reader { replay: self.clone(), news: self.news.subscribe(), id };
        stream::unfold(reader, Reader::next)
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        self.all_bytes.fetch_sub(self.said().bytes, Ordering::Relaxed);
    }
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Somebody who reads an answer.
struct Reader {
    replay: Arc<Replay>,
    news: watch::Receiver<u64>,
    id: u64,
}

impl Reader {
    async fn next(mut self) -> Option<(Bytes, Self)> {
        loop {
            self.news.borrow_and_update();
            match self.replay.change(|said| said.take(self.id)) {
                Taken::Piece(piece) => {
                    // Whoever writes it down may wait for this.
                    self.replay.tell();
                    return Some((piece, self));
                }
                // More was asked for, so whoever carries it to the client has taken all the rest.
                Taken::Over => {
                    self.replay.tell();
                    return None;
                }
                Taken::Nothing => {}
            }
            tokio::select! {
                _ = self.news.changed() => {}
                () = tokio::time::sleep(HEARTBEAT) => {
                    return Some((Bytes::from_static(Writer::heartbeat(self.replay.protocol)), self));
                }
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.replay.change(|said| {
            said.readers.remove(&self.id);
            if said.readers.is_empty() {
                said.alone = Instant::now();
            }
            said.forget();
        });
        self.replay.tell();
    }
}
