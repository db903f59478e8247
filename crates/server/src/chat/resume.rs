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
/// Largest answer that is kept; one that is larger ends there, with what a turn says when it is ended.
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
    /// Whether an answer of this chat could be kept: to be asked before there is a turn, which costs something.
    pub(super) fn takes(&self, user: &UserId, id: &str) -> bool {
        self.find(user, id).is_some() || self.has_room(user)
    }

    /// Keeps the answer of a turn. None where this user has too many.
    pub(super) fn begin(
        &self,
        user: &UserId,
        id: &str,
        begun: Begun,
        writer: Writer,
        hello: Bytes,
        lifecycle: &Lifecycle,
    ) -> Option<Arc<Replay>> {
        let key = (user.clone(), id.to_owned());
        self.stop(user, id);
        if !self.has_room(user) {
            return None;
        }
        let said =
            Said { bytes: hello.len(), pieces: vec![hello], over: false, readers: 0, alone: Instant::now() };
        let replay = Arc::new(Replay {
            protocol: writer.protocol(),
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

    /// Ends an answer, and forgets it. False where there is none.
    pub(super) fn stop(&self, user: &UserId, id: &str) -> bool {
        let found = self.0.remove(&(user.clone(), id.to_owned()));
        found.is_some_and(|(_, replay)| {
            replay.cancel.cancel();
            true
        })
    }

    /// Whether one more fits. Those that are over make room for those that go on.
    fn has_room(&self, user: &UserId) -> bool {
        let of_user = || self.0.iter().filter(|entry| entry.key().0 == *user);
        if of_user().count() < MAX_OF_USER {
            return true;
        }
        let over: Vec<Key> =
            of_user().filter(|entry| entry.said().over).map(|entry| entry.key().clone()).collect();
        for key in &over {
            self.0.remove(key);
        }
        !over.is_empty()
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
            // Its last words are kept all the same: a stream with holes is none.
            said.pieces.push(piece);
            if said.bytes > MAX_BYTES {
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

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;
    use tokio::sync::mpsc;
    use toolyard_agent::event::Finish;

    use super::*;

    struct World {
        replays: Replays,
        lifecycle: Lifecycle,
        ada: UserId,
    }

    impl World {
        fn new() -> Self {
            Self { replays: Replays::default(), lifecycle: Lifecycle::default(), ada: "ada".parse().unwrap() }
        }

        fn begin(&self, id: &str) -> (mpsc::Sender<TurnEvent>, Arc<Replay>) {
            let (turn, begun) = Begun::scripted();
            let writer = Writer::new(ChatProtocol::V1, "m");
            let begun = self.replays.begin(
                &self.ada,
                id,
                begun,
                writer,
                Bytes::from_static(b"hello\n"),
                &self.lifecycle,
            );
            (turn, begun.unwrap())
        }
    }

    /// Lets everybody else run.
    async fn settle() {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }

    async fn pass(time: Duration) {
        settle().await;
        tokio::time::advance(time).await;
        settle().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_goes_on_alone_for_a_while_and_its_answer_stays_for_a_while() {
        let world = World::new();
        let (turn, replay) = world.begin("c");
        let mut reader = Box::pin(replay.read());
        assert_eq!(reader.next().await.unwrap(), "hello\n");
        pass(ALONE * 3).await;
        assert!(!replay.cancel.is_cancelled(), "somebody reads");
        drop(reader);
        pass(ALONE / 2).await;
        drop(replay.read());
        pass(ALONE - Duration::from_secs(1)).await;
        assert!(!replay.cancel.is_cancelled(), "somebody came by");
        pass(Duration::from_secs(1)).await;
        assert!(replay.cancel.is_cancelled());
        turn.send(TurnEvent::Ends(Finish::Cancelled)).await.unwrap();
        pass(ALONE - Duration::from_secs(1)).await;
        assert!(world.replays.find(&world.ada, "c").is_some());
        let all: Vec<Bytes> = replay.read().collect().await;
        assert!(all.concat().starts_with(b"hello\nd:"), "{all:?}");
        pass(Duration::from_secs(1)).await;
        assert!(world.replays.find(&world.ada, "c").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn who_listens_to_silence_hears_that_it_is_alive() {
        let world = World::new();
        let (_turn, replay) = world.begin("c");
        let mut reader = Box::pin(replay.read());
        reader.next().await.unwrap();
        let before = Instant::now();
        assert_eq!((reader.next().await.unwrap(), before.elapsed()), (Bytes::from_static(b"\n"), HEARTBEAT));
    }

    #[tokio::test]
    async fn an_answer_that_is_too_large_ends_in_good_form() {
        let world = World::new();
        let (turn, replay) = world.begin("c");
        let piece = "x".repeat(1024 * 1024);
        turn.send(TurnEvent::StepBegins).await.unwrap();
        while !replay.cancel.is_cancelled() {
            turn.send(TurnEvent::Text(piece.clone())).await.unwrap();
            settle().await;
        }
        turn.send(TurnEvent::StepEnds { usage: None, goes_on: false }).await.unwrap();
        turn.send(TurnEvent::Ends(Finish::Cancelled)).await.unwrap();
        let all = replay.read().collect::<Vec<Bytes>>().await.concat();
        assert!(all.len() < MAX_BYTES + 2 * piece.len(), "{}", all.len());
        let text = std::str::from_utf8(&all).unwrap();
        let codes: String = text.lines().skip(1).map(|line| &line[..1]).collect();
        assert!(codes.starts_with("f0") && codes.ends_with("0ed"), "{codes}");
    }
}
