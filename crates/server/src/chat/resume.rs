//! Answers that can be heard again: what was said so far is kept, and the turn goes on for a while without a reader.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use dashmap::DashMap;
use futures_util::{Stream, stream};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;
use toolyard_agent::event::TurnEvent;
use toolyard_protocol::{UserId, chat::ChatProtocol};

use super::{
    begin::Begun,
    respond::{HEARTBEAT, Writer, broken},
};
use crate::lifecycle::Lifecycle;

/// How long a turn goes on without a reader, and how long its answer is kept after its end.
pub(super) const ALONE: Duration = Duration::from_secs(30);
/// Largest answer that is kept; one that is larger ends there.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Answers of one user at once.
const MAX_OF_USER: usize = 8;
/// Longest id of a chat.
pub(super) const MAX_ID: usize = 200;

type Key = (UserId, String);

/// All answers that can be heard again.
#[derive(Debug, Default)]
pub(crate) struct Replays(Arc<DashMap<Key, Arc<Replay>>>);

/// One of them.
#[derive(Debug)]
pub(super) struct Replay {
    pub(super) protocol: ChatProtocol,
    cancel: CancellationToken,
    said: Mutex<Said>,
    /// Raised with everything that happens.
    news: watch::Sender<u64>,
}

#[derive(Debug)]
struct Said {
    pieces: Vec<Bytes>,
    bytes: usize,
    over: bool,
    readers: usize,
    /// Since when nobody reads.
    alone: Instant,
}

impl Replays {
    /// Keeps the answer of a turn. None where this user has too many.
    pub(super) fn begin(
        &self,
        user: &UserId,
        id: &str,
        begun: Begun,
        writer: Writer,
        protocol: ChatProtocol,
        hello: Bytes,
        lifecycle: &Lifecycle,
    ) -> Option<Arc<Replay>> {
        let key = (user.clone(), id.to_owned());
        if let Some((_, before)) = self.0.remove(&key) {
            before.cancel.cancel();
        }
        if self.0.iter().filter(|entry| entry.key().0 == *user).count() >= MAX_OF_USER {
            return None;
        }
        let said =
            Said { bytes: hello.len(), pieces: vec![hello], over: false, readers: 0, alone: Instant::now() };
        let replay = Arc::new(Replay {
            protocol,
            cancel: begun.cancel.clone(),
            said: Mutex::new(said),
            news: watch::Sender::new(0),
        });
        self.0.insert(key.clone(), replay.clone());
        let (all, kept, stopping) = (self.0.clone(), replay.clone(), lifecycle.stopping.clone());
        lifecycle.spawn(async move {
            kept.record(begun, writer).await;
            tokio::select! {
                () = tokio::time::sleep(ALONE) => {}
                () = stopping.cancelled() => {}
            }
            all.remove_if(&key, |_, now| Arc::ptr_eq(now, &kept));
        });
        Some(replay)
    }

    /// The answer of a chat, where there is one.
    pub(super) fn find(&self, user: &UserId, id: &str) -> Option<Arc<Replay>> {
        self.0.get(&(user.clone(), id.to_owned())).map(|replay| replay.clone())
    }

    /// Ends an answer. False where there is none.
    pub(super) fn stop(&self, user: &UserId, id: &str) -> bool {
        let found = self.find(user, id);
        found.is_some_and(|replay| {
            replay.cancel.cancel();
            true
        })
    }
}

impl Replay {
    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down what the turn says, until its end or until nobody has read for a while.
    async fn record(&self, mut begun: Begun, mut writer: Writer) {
        let mut news = self.news.subscribe();
        loop {
            let alone = self.alone_until();
            let event = tokio::select! {
                event = begun.events.recv() => event.unwrap_or_else(broken),
                // Somebody came or went.
                Ok(()) = news.changed() => continue,
                () = until(alone) => {
                    begun.cancel.cancel();
                    begun.events.recv().await.unwrap_or_else(broken)
                }
            };
            let over = matches!(event, TurnEvent::Ends(_));
            self.add(writer.write(event), over);
            if over {
                return;
            }
        }
    }

    fn alone_until(&self) -> Option<Instant> {
        let said = self.said();
        (said.readers == 0).then(|| said.alone + ALONE)
    }

    fn add(&self, piece: Bytes, over: bool) {
        {
            let mut said = self.said();
            said.bytes += piece.len();
            said.over |= over;
            if said.bytes <= MAX_BYTES || over {
                said.pieces.push(piece);
            } else {
                self.cancel.cancel();
            }
        }
        self.news.send_modify(|news| *news += 1);
    }

    /// The answer from its first word, for one more reader.
    pub(super) fn read(self: &Arc<Self>) -> impl Stream<Item = Bytes> + Send + use<> {
        self.said().readers += 1;
        self.news.send_modify(|news| *news += 1);
        let reader = Reader { replay: self.clone(), news: self.news.subscribe(), read: 0 };
        stream::unfold(reader, Reader::next)
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
    read: usize,
}

impl Reader {
    async fn next(mut self) -> Option<(Bytes, Self)> {
        loop {
            self.news.borrow_and_update();
            let (fresh, read, over) = {
                let said = self.replay.said();
                (said.pieces[self.read..].concat(), said.pieces.len(), said.over)
            };
            self.read = read;
            if !fresh.is_empty() {
                return Some((fresh.into(), self));
            }
            if over {
                return None;
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
        let mut said = self.replay.said();
        said.readers -= 1;
        if said.readers == 0 {
            said.alone = Instant::now();
        }
        drop(said);
        self.replay.news.send_modify(|news| *news += 1);
    }
}
