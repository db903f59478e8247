use std::pin::Pin;

use futures_util::StreamExt as _;
use tokio::{sync::mpsc, time::Instant};
use toolyard_agent::event::{TurnEndReason, TurnEvent};
use toolyard_core::Caller;

use super::{super::respond::HEARTBEAT, *};

type ChunkStream = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

struct ResumeStage {
    replays: ResumableStreams,
    lifecycle: Lifecycle,
    ada: CallOwner,
}

impl ResumeStage {
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

    /// A turn, and its first reader if the stream is kept.
    fn try_begin(&self, id: &str) -> (mpsc::Sender<TurnEvent>, Option<ChunkStream>) {
        let (events, turn) = ActiveTurn::new_scripted();
        let (writer, preamble) = (ChatWriter::new(ChatProtocol::V1, "m"), Bytes::from_static(b"hello\n"));
        let turn = self.replays.start_stream(&self.ada, id, turn, writer, preamble, &self.lifecycle);
        (events, turn.ok().map(|chunks| Box::pin(chunks) as ChunkStream))
    }

    fn begin(&self, id: &str) -> (mpsc::Sender<TurnEvent>, ChunkStream, Arc<ResumableStream>) {
        let (events, reader) = self.try_begin(id);
        (events, reader.unwrap(), self.stored(id).unwrap())
    }

    fn stored(&self, id: &str) -> Option<Arc<ResumableStream>> {
        self.replays.0.lock_streams().get(&(self.ada.clone(), id.to_owned())).cloned()
    }

    fn read(&self, id: &str) -> Option<ChunkStream> {
        self.replays.resume_stream(&self.ada, id).unwrap().map(|(_, chunks)| Box::pin(chunks) as ChunkStream)
    }

    fn bytes(&self) -> usize {
        self.replays.0.bytes.load(Ordering::Relaxed)
    }
}

async fn send_text(events: &mpsc::Sender<TurnEvent>, text: &str) {
    events.send(TurnEvent::Text(text.to_owned())).await.unwrap();
    settle().await;
}

async fn send_end(events: &mpsc::Sender<TurnEvent>, finish: TurnEndReason) {
    events.send(TurnEvent::Ends(finish)).await.unwrap();
    settle().await;
}

async fn all(reader: ChunkStream) -> String {
    String::from_utf8(reader.collect::<Vec<Bytes>>().await.concat()).unwrap()
}

/// Lets all other tasks run.
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
async fn a_turn_continues_without_reader_and_its_stream_is_kept_for_a_while() {
    let stage = ResumeStage::new();
    let (events, mut reader, replay) = stage.begin("c");
    assert_eq!(reader.next().await.unwrap(), "hello\n");
    pass(DETACHED_TIMEOUT * 3).await;
    assert!(!replay.cancel.is_cancelled(), "a client reads");
    drop(reader);
    pass(DETACHED_TIMEOUT / 2).await;
    drop(stage.read("c"));
    pass(DETACHED_TIMEOUT - Duration::from_secs(1)).await;
    assert!(!replay.cancel.is_cancelled(), "a client came back");
    pass(Duration::from_secs(1)).await;
    assert!(replay.cancel.is_cancelled());
    send_end(&events, TurnEndReason::Cancelled).await;
    pass(DETACHED_TIMEOUT - Duration::from_secs(1)).await;
    let mut left = stage.read("c").unwrap();
    assert!(left.next().await.unwrap().starts_with(b"hello\nd:"));
    drop(left);
    assert!(stage.read("c").is_some(), "the last reader left before it saw the end");
    pass(Duration::from_secs(1)).await;
    assert!(stage.read("c").is_none() && stage.stored("c").is_none());
    drop(replay);
    assert_eq!(stage.bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_fully_read_stream_is_dropped_at_once() {
    let stage = ResumeStage::new();
    let (events, reader, replay) = stage.begin("c");
    let second = stage.read("c").unwrap();
    send_text(&events, "one").await;
    send_end(&events, TurnEndReason::Stop).await;
    assert!(stage.read("c").is_some());
    assert!(all(reader).await.starts_with("hello\n0:\"one\"\nd:"));
    assert!(stage.read("c").is_none());
    settle().await;
    assert!(stage.stored("c").is_none());
    // A current reader loses nothing.
    assert!(all(second).await.starts_with("hello\n0:\"one\"\nd:"));
    drop(replay);
    assert_eq!(stage.bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_sends_heartbeats() {
    let stage = ResumeStage::new();
    let (_events, mut reader, _) = stage.begin("c");
    reader.next().await.unwrap();
    let before = Instant::now();
    assert_eq!((reader.next().await.unwrap(), before.elapsed()), (Bytes::from_static(b"\n"), HEARTBEAT));
}

#[tokio::test]
async fn a_stream_that_is_too_large_is_only_for_current_readers() {
    let stage = ResumeStage::new();
    let (events, mut reader, replay) = stage.begin("c");
    let chunk = "x".repeat(1024 * 1024);
    let mut sent = 0;
    while stage.read("c").is_some() {
        send_text(&events, &chunk).await;
        sent += 1;
    }
    assert_eq!(sent, MAX_STREAM_BYTES / chunk.len());
    // Nothing is read, so nothing more is recorded.
    for _ in 0..3 {
        send_text(&events, &chunk).await;
    }
    assert!(stage.bytes() < MAX_STREAM_BYTES + 2 * chunk.len(), "{}", stage.bytes());
    let mut received = 0;
    while received < (sent + 3) * chunk.len() {
        received += reader.next().await.unwrap().len();
        settle().await;
    }
    assert_eq!(stage.bytes(), 0, "chunks that the only reader has are dropped");
    assert!(!replay.cancel.is_cancelled());
    send_end(&events, TurnEndReason::Stop).await;
    assert!(all(reader).await.starts_with("d:"));
    assert!(stage.stored("c").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_cannot_be_resumed_ends_with_its_last_reader() {
    let stage = ResumeStage::with(|config| config.replay_bytes = 100);
    let (events, mut reader, replay) = stage.begin("c");
    let slow = stage.read("c").unwrap();
    send_text(&events, &"x".repeat(200)).await;
    assert!(stage.read("c").is_none());
    assert!(reader.next().await.unwrap().len() > 200);
    settle().await;
    assert!(stage.bytes() > 200, "the slow reader does not have it yet");
    drop(slow);
    assert_eq!(stage.bytes(), 0);
    settle().await;
    assert!(!replay.cancel.is_cancelled());
    drop(reader);
    settle().await;
    assert!(replay.cancel.is_cancelled(), "cancelled at once");
}

#[tokio::test(start_paused = true)]
async fn a_stalled_reader_does_not_keep_a_cancelled_turn() {
    let stage = ResumeStage::with(|config| config.replay_bytes = 100);
    let (events, reader, replay) = stage.begin("c");
    send_text(&events, &"x".repeat(200)).await;
    send_end(&events, TurnEndReason::Cancelled).await;
    assert!(stage.stored("c").is_some(), "its last output waits for the reader");
    replay.cancel.cancel();
    settle().await;
    assert!(stage.stored("c").is_none());
    assert!(all(reader).await.contains("\nd:"), "the reader still gets it");
}

#[tokio::test(start_paused = true)]
async fn the_oldest_ended_streams_are_evicted_for_new_streams_and_output() {
    let stage = ResumeStage::with(|config| (config.replays, config.replay_bytes) = (3, 1_000));
    let long = "x".repeat(200);
    for id in ["a", "b"] {
        let (events, reader, _) = stage.begin(id);
        drop(reader);
        send_text(&events, &long).await;
        send_end(&events, TurnEndReason::Stop).await;
        pass(Duration::from_secs(1)).await;
    }
    let (events, _reader, _) = stage.begin("c");
    // The fourth evicts the first.
    let (_, reader) = stage.try_begin("d");
    assert!(reader.is_some() && stage.stored("a").is_none() && stage.stored("b").is_some());
    // New output evicts the second. Then nothing is left to evict.
    for _ in 0..4 {
        send_text(&events, &long).await;
    }
    assert!(stage.stored("b").is_none() && stage.read("c").is_some());
    assert!(stage.bytes() <= 1_000, "{}", stage.bytes());
    send_text(&events, &long).await;
    assert!(stage.read("c").is_none() && stage.read("d").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_running_stream_is_never_evicted() {
    let stage = ResumeStage::with(|config| config.replays = 2);
    let (_one, first, _) = stage.begin("a");
    let (_two, second, _) = stage.begin("b");
    drop(second);
    let (events, none) = stage.try_begin("c");
    assert!(none.is_none() && stage.stored("c").is_none());
    assert!(stage.read("a").is_some() && stage.read("b").is_some());
    assert!(events.is_closed(), "the turn was returned to the caller, which dropped it");
    drop(first);
    // A new stream of the same chat replaces the old one, so there is room.
    assert!(stage.try_begin("a").1.is_some());
}

#[tokio::test(start_paused = true)]
async fn the_number_of_readers_is_limited() {
    let stage = ResumeStage::new();
    let (_events, first, _replay) = stage.begin("c");
    let mut others: Vec<_> = (1..MAX_READERS).map(|_| stage.read("c").unwrap()).collect();
    assert_eq!(stage.replays.resume_stream(&stage.ada, "c").map(|_| ()), Err(TooManyReaders));
    assert!(stage.replays.resume_stream(&stage.ada, "other").unwrap().is_none());
    others.pop();
    others.push(stage.read("c").unwrap());
    drop(first);
    assert!(stage.read("c").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_late_reader_gets_a_long_stream_in_parts() {
    let stage = ResumeStage::new();
    let (events, reader, _replay) = stage.begin("c");
    for _ in 0..40 {
        send_text(&events, &"x".repeat(10_000)).await;
    }
    send_end(&events, TurnEndReason::Stop).await;
    let late: Vec<Bytes> = stage.read("c").unwrap().collect().await;
    assert!(late.len() > 5 && late.iter().all(|chunk| chunk.len() <= 64 * 1024), "{}", late.len());
    assert_eq!(String::from_utf8(late.concat()).unwrap(), all(reader).await, "nothing is lost");
}
