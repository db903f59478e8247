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
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::Stream;
use toolyard_core::CallOwner;
use toolyard_protocol::{UserId, chat::ChatProtocol};

use self::replay::Replay;
use super::{begin::Begun, respond::Writer};
use crate::{config::ChatConfig, lifecycle::Lifecycle};

/// How long a turn goes on without a reader, and how long its answer is kept after its end.
const ALONE: Duration = Duration::from_secs(30);
/// Largest answer that is kept.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Answers of one user at once.
const MAX_OF_USER: usize = 8;
/// Readers of one answer at once.
const MAX_READERS: usize = 8;
/// Longest id of a chat.
pub(super) const MAX_ID: usize = 200;

/// There are as many readers of that answer as there may be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooManyReaders;

/// Whose answer, and of which chat. An app that acts for a user has answers of its own.
type Key = (CallOwner, String);
type Answers = HashMap<Key, Arc<Replay>>;

/// All answers that can be heard again.
#[derive(Debug)]
pub(crate) struct Replays(Arc<Shelf>);

/// Where they are kept.
#[derive(Debug)]
struct Shelf {
    /// Locked before what one of them said, never after it.
    answers: Mutex<Answers>,
    /// Bytes of all of them, and of those that are no longer here and still being read.
    bytes: Arc<AtomicUsize>,
    max_answers: usize,
    max_bytes: usize,
}

impl Shelf {
    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether one more answer fits. Those that are over make room, the oldest first; one that goes on never does.
    fn has_room(&self, answers: &mut Answers, user: &UserId) -> bool {
        (of_user(answers, user).count() < MAX_OF_USER || drop_oldest(answers, Some(user)))
            && (answers.len() < self.max_answers || drop_oldest(answers, None))
            && self.has_bytes(answers)
    }

    fn is_too_full(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > self.max_bytes
    }

    /// Whether all that was said fits, in the same way.
    fn has_bytes(&self, answers: &mut Answers) -> bool {
        while self.is_too_full() {
            if !drop_oldest(answers, None) {
                return false;
            }
        }
        true
    }
}

fn of_user<'a>(answers: &'a Answers, user: &UserId) -> impl Iterator<Item = &'a Arc<Replay>> {
    answers.iter().filter(move |((owner, _), _)| owner.user == *user).map(|(_, replay)| replay)
}

/// Forgets the oldest of those that are over and that nobody reads. False where there is none.
fn drop_oldest(answers: &mut Answers, of: Option<&UserId>) -> bool {
    let all = answers.iter().filter(|((owner, _), _)| of.is_none_or(|user| *user == owner.user));
    let idle = all.filter_map(|(key, replay)| Some((replay.idle_since()?, key)));
    let oldest = idle.min_by_key(|(since, _)| *since).map(|(_, key)| key.clone());
    let Some(replay) = oldest.and_then(|key| answers.remove(&key)) else { return false };
    // Whoever wrote it down still has it; its bytes must be free now.
    replay.give_up();
    true
}

impl Replays {
    /// None yet, within the bounds of the configuration.
    pub(crate) fn new(config: &ChatConfig) -> Self {
        let (max_answers, max_bytes) = (config.replays, config.replay_bytes);
        Self(Arc::new(Shelf { answers: Mutex::default(), bytes: Arc::default(), max_answers, max_bytes }))
    }

    /// Whether this user may have one more: to be asked before there is a turn, which costs something.
    pub(super) fn takes(&self, owner: &CallOwner, id: &str) -> bool {
        let answers = self.0.answers();
        answers.contains_key(&(owner.clone(), id.to_owned()))
            || of_user(&answers, &owner.user).count() < MAX_OF_USER
            || of_user(&answers, &owner.user).any(|replay| replay.idle_since().is_some())
    }

    /// Keeps the answer of a turn, and gives it to its first reader. Where there is no room for it, the turn comes back.
    pub(super) fn begin(
        &self,
        owner: &CallOwner,
        id: &str,
        begun: Begun,
        writer: Writer,
        hello: Bytes,
        lifecycle: &Lifecycle,
    ) -> Result<impl Stream<Item = Bytes> + Send + use<>, Box<(Begun, Writer)>> {
        let key = (owner.clone(), id.to_owned());
        let replay = {
            let mut answers = self.0.answers();
            if let Some(before) = answers.remove(&key) {
                before.cancel.cancel();
            }
            if !self.0.has_room(&mut answers, &owner.user) {
                return Err(Box::new((begun, writer)));
            }
            let replay = Replay::new(writer.protocol(), begun.cancel.clone(), hello, self.0.bytes.clone());
            answers.insert(key.clone(), replay.clone());
            replay
        };
        let first = replay.join();
        let (shelf, stopping) = (self.0.clone(), lifecycle.stopping.clone());
        lifecycle.spawn(async move {
            replay.record(&shelf, begun, writer).await;
            tokio::select! {
                () = tokio::time::sleep(ALONE) => {}
                () = replay.is_of_no_use() => {}
                () = stopping.cancelled() => {}
            }
            let mut answers = shelf.answers();
            if answers.get(&key).is_some_and(|now| Arc::ptr_eq(now, &replay)) {
                answers.remove(&key);
            }
        });
        Ok(first)
    }

    /// The answer of a chat from its first word, where there is one that nobody has whole.
    pub(super) fn read(
        &self,
        owner: &CallOwner,
        id: &str,
    ) -> Result<Option<(ChatProtocol, impl Stream<Item = Bytes> + Send + use<>)>, TooManyReaders> {
        let Some(replay) = self.0.answers().get(&(owner.clone(), id.to_owned())).cloned() else {
            return Ok(None);
        };
        Ok(replay.read()?.map(|pieces| (replay.protocol, pieces)))
    }

    /// Ends an answer, and forgets it. False where there is none.
    pub(super) fn stop(&self, owner: &CallOwner, id: &str) -> bool {
        let found = self.0.answers().remove(&(owner.clone(), id.to_owned()));
        found.is_some_and(|replay| {
            replay.cancel.cancel();
            !replay.was_told()
        })
    }
}
