//! Answers that can be heard again: what was said so far is kept, and the turn goes on for a while without a reader.
//!
//! An answer is kept for those whose reader left before its end. Once somebody heard all of it, it is gone: who has it
//! would show it twice. One for which there is no room is told to those who listen, and to nobody else.

mod replay;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::Stream;
use parking_lot::{Mutex, MutexGuard};
use toolyard_core::CallOwner;
use toolyard_protocol::{UserId, chat::ChatProtocol};

use self::replay::ResumableStream;
use super::{begin::ActiveTurn, respond::ChatWriter};
use crate::{config::ChatConfig, lifecycle::Lifecycle};

/// How long a turn goes on without a reader, and how long its answer is kept after its end.
const DETACHED_TIMEOUT: Duration = Duration::from_secs(30);
/// Largest answer that is kept.
const MAX_STREAM_BYTES: usize = 16 * 1024 * 1024;
/// Answers of one user at once.
const MAX_STREAMS_PER_USER: usize = 8;
/// Readers of one answer at once.
const MAX_READERS: usize = 8;
/// Longest id of a chat.
pub(super) const MAX_CHAT_ID_BYTES: usize = 200;

/// There are as many readers of that answer as there may be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooManyReaders;

/// Whose answer, and of which chat. An app that acts for a user has answers of its own.
type ResumableStreamKey = (CallOwner, String);
type ResumableStreamMap = HashMap<ResumableStreamKey, Arc<ResumableStream>>;

/// All answers that can be heard again.
#[derive(Debug)]
pub(crate) struct ResumableStreams(Arc<ResumableStreamTable>);

/// Where they are kept.
#[derive(Debug)]
struct ResumableStreamTable {
    /// Locked before what one of them said, never after it.
    streams: Mutex<ResumableStreamMap>,
    /// Bytes of all of them, and of those that are no longer here and still being read.
    bytes: Arc<AtomicUsize>,
    max_streams: usize,
    max_bytes: usize,
}

impl ResumableStreamTable {
    fn lock_streams(&self) -> MutexGuard<'_, ResumableStreamMap> {
        self.streams.lock()
    }

    /// Whether one more answer fits. Those that are over make room, the oldest first; one that goes on never does.
    fn make_room(&self, answers: &mut ResumableStreamMap, user: &UserId) -> bool {
        (streams_of_user(answers, user).count() < MAX_STREAMS_PER_USER
            || evict_oldest_idle(answers, Some(user)))
            && (answers.len() < self.max_streams || evict_oldest_idle(answers, None))
            && self.make_room_for_bytes(answers)
    }

    fn is_over_capacity(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > self.max_bytes
    }

    /// Whether all that was said fits, in the same way.
    fn make_room_for_bytes(&self, answers: &mut ResumableStreamMap) -> bool {
        while self.is_over_capacity() {
            if !evict_oldest_idle(answers, None) {
                return false;
            }
        }
        true
    }
}

fn streams_of_user<'a>(
    answers: &'a ResumableStreamMap,
    user: &UserId,
) -> impl Iterator<Item = &'a Arc<ResumableStream>> {
    answers.iter().filter(move |((owner, _), _)| owner.user == *user).map(|(_, replay)| replay)
}

/// Forgets the oldest of those that are over and that nobody reads. False where there is none.
fn evict_oldest_idle(answers: &mut ResumableStreamMap, of: Option<&UserId>) -> bool {
    let all = answers.iter().filter(|((owner, _), _)| of.is_none_or(|user| *user == owner.user));
    let idle = all.filter_map(|(key, replay)| Some((replay.idle_since()?, key)));
    let oldest = idle.min_by_key(|(since, _)| *since).map(|(_, key)| key.clone());
    let Some(replay) = oldest.and_then(|key| answers.remove(&key)) else { return false };
    // Whoever wrote it down still has it; its bytes must be free now.
    replay.stop_keeping();
    true
}

impl ResumableStreams {
    /// None yet, within the bounds of the configuration.
    pub(crate) fn new(config: &ChatConfig) -> Self {
        let (max_answers, max_bytes) = (config.replays, config.replay_bytes);
        Self(Arc::new(ResumableStreamTable {
            streams: Mutex::default(),
            bytes: Arc::default(),
            max_streams: max_answers,
            max_bytes,
        }))
    }

    /// Whether this user may have one more: to be asked before there is a turn, which costs something.
    pub(super) fn can_accept(&self, owner: &CallOwner, id: &str) -> bool {
        let answers = self.0.lock_streams();
        answers.contains_key(&(owner.clone(), id.to_owned()))
            || streams_of_user(&answers, &owner.user).count() < MAX_STREAMS_PER_USER
            || streams_of_user(&answers, &owner.user).any(|replay| replay.idle_since().is_some())
    }

    /// Keeps the answer of a turn, and gives it to its first reader. Where there is no room for it, the turn comes back.
    pub(super) fn start_stream(
        &self,
        owner: &CallOwner,
        id: &str,
        begun: ActiveTurn,
        writer: ChatWriter,
        hello: Bytes,
        lifecycle: &Lifecycle,
    ) -> Result<impl Stream<Item = Bytes> + Send + use<>, Box<(ActiveTurn, ChatWriter)>> {
        let key = (owner.clone(), id.to_owned());
        let replay = {
            let mut answers = self.0.lock_streams();
            if let Some(before) = answers.remove(&key) {
                before.cancel.cancel();
            }
            if !self.0.make_room(&mut answers, &owner.user) {
                return Err(Box::new((begun, writer)));
            }
            let replay =
                ResumableStream::new(writer.protocol(), begun.cancel.clone(), hello, self.0.bytes.clone());
            answers.insert(key.clone(), replay.clone());
            replay
        };
        let first = replay.open_first_reader();
        let (shelf, stopping) = (self.0.clone(), lifecycle.stopping.clone());
        lifecycle.spawn(async move {
            replay.record_turn(&shelf, begun, writer).await;
            tokio::select! {
                () = tokio::time::sleep(DETACHED_TIMEOUT) => {}
                () = replay.wait_until_unresumable() => {}
                () = stopping.cancelled() => {}
            }
            let mut answers = shelf.lock_streams();
            if answers.get(&key).is_some_and(|now| Arc::ptr_eq(now, &replay)) {
                answers.remove(&key);
            }
        });
        Ok(first)
    }

    /// The answer of a chat from its first word, where there is one that nobody has whole.
    pub(super) fn resume_stream(
        &self,
        owner: &CallOwner,
        id: &str,
    ) -> Result<Option<(ChatProtocol, impl Stream<Item = Bytes> + Send + use<>)>, TooManyReaders> {
        let Some(replay) = self.0.lock_streams().get(&(owner.clone(), id.to_owned())).cloned() else {
            return Ok(None);
        };
        Ok(replay.open_reader()?.map(|pieces| (replay.protocol, pieces)))
    }

    /// Ends an answer, and forgets it. False where there is none.
    pub(super) fn cancel_stream(&self, owner: &CallOwner, id: &str) -> bool {
        let found = self.0.lock_streams().remove(&(owner.clone(), id.to_owned()));
        found.is_some_and(|replay| {
            replay.cancel.cancel();
            !replay.was_fully_read()
        })
    }
}
