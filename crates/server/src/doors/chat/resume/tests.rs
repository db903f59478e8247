use std::pin::Pin;

use futures_util::StreamExt as _;
use tokio::{sync::mpsc, time::Instant};
use toolyard_agent::event::{TurnEndReason, TurnEvent};
use toolyard_core::Caller;

use super::{super::respond::HEARTBEAT, *};

type Pieces = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

struct World {
    replays: ResumableStreams,
    lifecycle: Lifecycle,
    ada: CallOwner,
}

impl World {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut ChatConfig)) -> Self {
        let mut config = ChatConfig::default();
        change(&mut config);
        let (replays, lifecycle) = (ResumableStreams::new(&config), Lifecycle::default());
        let ada = CallOwner { user: "ada".parse().unwrap(), caller: Caller::User };
        Self { replays, lifecycle, ada }
    }

    /// A turn, and its first reader where the answer is kept.
    fn try_begin(&self, id: &str) -> (mpsc::Sender<TurnEvent>, Option<Pieces>) {
        let (turn, begun) = ActiveTurn::new_scripted();
        let (writer, hello) = (ChatWriter::new(ChatProtocol::V1, "m"), Bytes::from_static(b"hello\n"));
        let begun = self.replays.start_stream(&self.ada, id, begun, writer, hello, &self.lifecycle);
        (turn, begun.ok().map(|pieces| Box::pin(pieces) as Pieces))
    }

    fn begin(&self, id: &str) -> (mpsc::Sender<TurnEvent>, Pieces, Arc<ResumableStream>) {
        let (turn, reader) = self.try_begin(id);
        (turn, reader.unwrap(), self.kept(id).unwrap())
    }

    fn kept(&self, id: &str) -> Option<Arc<ResumableStream>> {
        self.replays.0.lock_streams().get(&(self.ada.clone(), id.to_owned())).cloned()
    }

    fn read(&self, id: &str) -> Option<Pieces> {
        self.replays.resume_stream(&self.ada, id).unwrap().map(|(_, pieces)| Box::pin(pieces) as Pieces)
    }

    fn bytes(&self) -> usize {
        self.replays.0.bytes.load(Ordering::Relaxed)
    }
}

async fn say(turn: &mpsc::Sender<TurnEvent>, text: &str) {
    turn.send(TurnEvent::Text(text.to_owned())).await.unwrap();
    settle().await;
}

async fn end(turn: &mpsc::Sender<TurnEvent>, finish: TurnEndReason) {
    turn.send(TurnEvent::Ends(finish)).await.unwrap();
    settle().await;
}

async fn all(reader: Pieces) -> String {
    String::from_utf8(reader.collect::<Vec<Bytes>>().await.concat()).unwrap()
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
    let (turn, mut reader, replay) = world.begin("c");
    assert_eq!(reader.next().await.unwrap(), "hello\n");
    pass(DETACHED_TIMEOUT * 3).await;
    assert!(!replay.cancel.is_cancelled(), "somebody reads");
    drop(reader);
    pass(DETACHED_TIMEOUT / 2).await;
    drop(world.read("c"));
    pass(DETACHED_TIMEOUT - Duration::from_secs(1)).await;
    assert!(!replay.cancel.is_cancelled(), "somebody came by");
    pass(Duration::from_secs(1)).await;
    assert!(replay.cancel.is_cancelled());
    end(&turn, TurnEndReason::Cancelled).await;
    pass(DETACHED_TIMEOUT - Duration::from_secs(1)).await;
    let mut left = world.read("c").unwrap();
    assert!(left.next().await.unwrap().starts_with(b"hello\nd:"));
    drop(left);
    assert!(world.read("c").is_some(), "that one left before it knew that this is the end");
    pass(Duration::from_secs(1)).await;
    assert!(world.read("c").is_none() && world.kept("c").is_none());
    drop(replay);
    assert_eq!(world.bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_somebody_has_whole_is_gone_at_once() {
    let world = World::new();
    let (turn, reader, replay) = world.begin("c");
    let second = world.read("c").unwrap();
    say(&turn, "one").await;
    end(&turn, TurnEndReason::Stop).await;
    assert!(world.read("c").is_some());
    assert!(all(reader).await.starts_with("hello\n0:\"one\"\nd:"));
    assert!(world.read("c").is_none());
    settle().await;
    assert!(world.kept("c").is_none());
    // Who was there all along loses nothing.
    assert!(all(second).await.starts_with("hello\n0:\"one\"\nd:"));
    drop(replay);
    assert_eq!(world.bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn who_listens_to_silence_hears_that_it_is_alive() {
    let world = World::new();
    let (_turn, mut reader, _) = world.begin("c");
    reader.next().await.unwrap();
    let before = Instant::now();
    assert_eq!((reader.next().await.unwrap(), before.elapsed()), (Bytes::from_static(b"\n"), HEARTBEAT));
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_for_those_who_listen() {
    let world = World::new();
    let (turn, mut reader, replay) = world.begin("c");
    let piece = "x".repeat(1024 * 1024);
    let mut said = 0;
    while world.read("c").is_some() {
        say(&turn, &piece).await;
        said += 1;
    }
    assert_eq!(said, MAX_STREAM_BYTES / piece.len());
    // Nobody takes anything, so nothing more is written down.
    for _ in 0..3 {
        say(&turn, &piece).await;
    }
    assert!(world.bytes() < MAX_STREAM_BYTES + 2 * piece.len(), "{}", world.bytes());
    let mut heard = 0;
    while heard < (said + 3) * piece.len() {
        heard += reader.next().await.unwrap().len();
        settle().await;
    }
    assert_eq!(world.bytes(), 0, "what the only listener has is not kept");
    assert!(!replay.cancel.is_cancelled());
    end(&turn, TurnEndReason::Stop).await;
    assert!(all(reader).await.starts_with("d:"));
    assert!(world.kept("c").is_none());
}

#[tokio::test(start_paused = true)]
async fn what_only_listeners_can_hear_ends_with_the_last_of_them() {
    let world = World::with(|config| config.replay_bytes = 100);
    let (turn, mut reader, replay) = world.begin("c");
    let slow = world.read("c").unwrap();
    say(&turn, &"x".repeat(200)).await;
    assert!(world.read("c").is_none());
    assert!(reader.next().await.unwrap().len() > 200);
    settle().await;
    assert!(world.bytes() > 200, "the slow one does not have it yet");
    drop(slow);
    assert_eq!(world.bytes(), 0);
    settle().await;
    assert!(!replay.cancel.is_cancelled());
    drop(reader);
    settle().await;
    assert!(replay.cancel.is_cancelled(), "not even a moment later");
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_takes_nothing_does_not_keep_an_ended_turn() {
    let world = World::with(|config| config.replay_bytes = 100);
    let (turn, reader, replay) = world.begin("c");
    say(&turn, &"x".repeat(200)).await;
    end(&turn, TurnEndReason::Cancelled).await;
    assert!(world.kept("c").is_some(), "its last words wait for the listener");
    replay.cancel.cancel();
    settle().await;
    assert!(world.kept("c").is_none());
    assert!(all(reader).await.contains("\nd:"), "who comes to take them gets them");
}

#[tokio::test(start_paused = true)]
async fn the_oldest_that_are_over_make_room_for_new_ones_and_for_new_words() {
    let world = World::with(|config| (config.replays, config.replay_bytes) = (3, 1_000));
    let long = "x".repeat(200);
    for id in ["a", "b"] {
        let (turn, reader, _) = world.begin(id);
        drop(reader);
        say(&turn, &long).await;
        end(&turn, TurnEndReason::Stop).await;
        pass(Duration::from_secs(1)).await;
    }
    let (turn, _reader, _) = world.begin("c");
    // The fourth takes the place of the first.
    let (_, reader) = world.try_begin("d");
    assert!(reader.is_some() && world.kept("a").is_none() && world.kept("b").is_some());
    // Words take the place of the second, and then there is nothing left to be dropped.
    for _ in 0..4 {
        say(&turn, &long).await;
    }
    assert!(world.kept("b").is_none() && world.read("c").is_some());
    assert!(world.bytes() <= 1_000, "{}", world.bytes());
    say(&turn, &long).await;
    assert!(world.read("c").is_none() && world.read("d").is_some());
}

#[tokio::test(start_paused = true)]
async fn one_that_goes_on_is_never_dropped() {
    let world = World::with(|config| config.replays = 2);
    let (_one, first, _) = world.begin("a");
    let (_two, second, _) = world.begin("b");
    drop(second);
    let (turn, none) = world.try_begin("c");
    assert!(none.is_none() && world.kept("c").is_none());
    assert!(world.read("a").is_some() && world.read("b").is_some());
    assert!(turn.is_closed(), "the turn went back to whoever asked, and was dropped here");
    drop(first);
    // Another answer of the same chat takes its place, so it has one.
    assert!(world.try_begin("a").1.is_some());
}

#[tokio::test(start_paused = true)]
async fn so_many_read_one_answer_at_once() {
    let world = World::new();
    let (_turn, first, _replay) = world.begin("c");
    let mut others: Vec<_> = (1..MAX_READERS).map(|_| world.read("c").unwrap()).collect();
    assert_eq!(world.replays.resume_stream(&world.ada, "c").map(|_| ()), Err(TooManyReaders));
    assert!(world.replays.resume_stream(&world.ada, "other").unwrap().is_none());
    others.pop();
    others.push(world.read("c").unwrap());
    drop(first);
    assert!(world.read("c").is_some());
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_late_takes_a_long_answer_in_parts() {
    let world = World::new();
    let (turn, reader, _replay) = world.begin("c");
    for _ in 0..40 {
        say(&turn, &"x".repeat(10_000)).await;
    }
    end(&turn, TurnEndReason::Stop).await;
    let late: Vec<Bytes> = world.read("c").unwrap().collect().await;
    assert!(late.len() > 5 && late.iter().all(|piece| piece.len() <= 64 * 1024), "{}", late.len());
    assert_eq!(String::from_utf8(late.concat()).unwrap(), all(reader).await, "nothing is lost");
}
