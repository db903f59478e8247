//! Resumable streams: the output so far is kept, and the turn continues for a while without a reader.
//!
//! A stream is kept for clients that disconnected before its end. Once a client has read all of it, it is dropped, because
//! that client would show it twice. If there is no room, the response streams normally but cannot be resumed.

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

/// How long a turn continues without a reader, and how long its stream is kept after its end.
const DETACHED_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a cancelled turn may take to end.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest stream that is kept.
const MAX_STREAM_BYTES: usize = 16 * 1024 * 1024;
/// Streams of one user at once.
const MAX_STREAMS_PER_USER: usize = 8;
/// Readers of one stream at once.
const MAX_READERS: usize = 8;
/// Longest chat id.
pub(super) const MAX_CHAT_ID_BYTES: usize = 200;

/// The stream has the maximum number of readers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooManyReaders;

/// Owner and chat id. An app that acts for a user has its own streams.
type ResumableStreamKey = (CallOwner, String);
type ResumableStreamMap = HashMap<ResumableStreamKey, Arc<ResumableStream>>;

/// All resumable streams.
#[derive(Debug)]
pub(super) struct ResumableStreams(Arc<ResumableStreamTable>);

/// The streams and their limits.
#[derive(Debug)]
struct ResumableStreamTable {
    /// Locked before the buffer of a stream, never after it.
    streams: Mutex<ResumableStreamMap>,
    /// Bytes of all buffers, including dropped streams that are still being read.
    bytes: Arc<AtomicUsize>,
    max_streams: usize,
    max_bytes: usize,
}

impl ResumableStreamTable {
    fn lock_streams(&self) -> MutexGuard<'_, ResumableStreamMap> {
        self.streams.lock()
    }

    /// Makes room for one more stream by evicting ended ones, oldest first. Running streams are never evicted. False if it does not fit.
    fn make_room(&self, streams: &mut ResumableStreamMap, user: &UserId) -> bool {
        (streams_of_user(streams, user).count() < MAX_STREAMS_PER_USER
            || evict_oldest_idle(streams, Some(user)))
            && (streams.len() < self.max_streams || evict_oldest_idle(streams, None))
            && self.make_room_for_bytes(streams)
    }

    fn is_over_capacity(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > self.max_bytes
    }

    /// The same for the bytes of all buffers.
    fn make_room_for_bytes(&self, streams: &mut ResumableStreamMap) -> bool {
        while self.is_over_capacity() {
            if !evict_oldest_idle(streams, None) {
                return false;
            }
        }
        true
    }
}

fn streams_of_user<'a>(
    streams: &'a ResumableStreamMap,
    user: &UserId,
) -> impl Iterator<Item = &'a Arc<ResumableStream>> {
    streams.iter().filter(move |((owner, _), _)| owner.user == *user).map(|(_, replay)| replay)
}

/// Evicts the oldest stream that has ended and has no reader. False if there is none.
fn evict_oldest_idle(streams: &mut ResumableStreamMap, of: Option<&UserId>) -> bool {
    let all = streams.iter().filter(|((owner, _), _)| of.is_none_or(|user| *user == owner.user));
    let idle = all.filter_map(|(key, replay)| Some((replay.idle_since()?, key)));
    let oldest = idle.min_by_key(|(since, _)| *since).map(|(_, key)| key.clone());
    let Some(replay) = oldest.and_then(|key| streams.remove(&key)) else { return false };
    // Its recorder still holds it, but its bytes must be free now.
    replay.stop_keeping();
    true
}

impl ResumableStreams {
    /// Empty, with the limits of the configuration.
    pub(super) fn new(config: &ChatConfig) -> Self {
        let (max_answers, max_bytes) = (config.replays, config.replay_bytes);
        Self(Arc::new(ResumableStreamTable {
            streams: Mutex::default(),
            bytes: Arc::default(),
            max_streams: max_answers,
            max_bytes,
        }))
    }

    /// Whether this user may start one more stream. Check it before starting a turn, which costs tokens.
    pub(super) fn can_accept(&self, owner: &CallOwner, id: &str) -> bool {
        let streams = self.0.lock_streams();
        streams.contains_key(&(owner.clone(), id.to_owned()))
            || streams_of_user(&streams, &owner.user).count() < MAX_STREAMS_PER_USER
            || streams_of_user(&streams, &owner.user).any(|replay| replay.idle_since().is_some())
    }

    /// Cancels the turn of a stream that is still running, and waits until it no longer counts. Its readers get its end.
    /// False if there is none, or if it does not end in time.
    pub(super) async fn end_turn(&self, owner: &CallOwner, id: &str) -> bool {
        let running = self.0.lock_streams().get(&(owner.clone(), id.to_owned())).cloned();
        let Some(running) = running.filter(|replay| !replay.turn_ended.is_cancelled()) else { return false };
        running.cancel.cancel();
        tokio::time::timeout(CANCEL_TIMEOUT, running.turn_ended.cancelled()).await.is_ok()
    }

    /// Records the stream of a turn and returns its first reader. If there is no room, the turn is returned.
    pub(super) fn start_stream(
        &self,
        owner: &CallOwner,
        id: &str,
        turn: ActiveTurn,
        writer: ChatWriter,
        preamble: Bytes,
        lifecycle: &Lifecycle,
    ) -> Result<impl Stream<Item = Bytes> + Send + use<>, Box<(ActiveTurn, ChatWriter)>> {
        let key = (owner.clone(), id.to_owned());
        let replay = {
            let mut streams = self.0.lock_streams();
            if let Some(before) = streams.remove(&key) {
                before.cancel.cancel();
            }
            if !self.0.make_room(&mut streams, &owner.user) {
                return Err(Box::new((turn, writer)));
            }
            let replay = ResumableStream::new(writer.protocol(), &turn, preamble, self.0.bytes.clone());
            streams.insert(key.clone(), replay.clone());
            replay
        };
        let first = replay.open_first_reader();
        let (table, stopping) = (self.0.clone(), lifecycle.stopping.clone());
        lifecycle.spawn(async move {
            replay.record_turn(&table, turn, writer).await;
            tokio::select! {
                () = tokio::time::sleep(DETACHED_TIMEOUT) => {}
                () = replay.wait_until_unresumable() => {}
                () = stopping.cancelled() => {}
            }
            let mut streams = table.lock_streams();
            if streams.get(&key).is_some_and(|now| Arc::ptr_eq(now, &replay)) {
                streams.remove(&key);
            }
        });
        Ok(first)
    }

    /// The stream of a chat from its start, unless a client has already read all of it.
    pub(super) fn resume_stream(
        &self,
        owner: &CallOwner,
        id: &str,
    ) -> Result<Option<(ChatProtocol, impl Stream<Item = Bytes> + Send + use<>)>, TooManyReaders> {
        let Some(replay) = self.0.lock_streams().get(&(owner.clone(), id.to_owned())).cloned() else {
            return Ok(None);
        };
        Ok(replay.open_reader()?.map(|chunks| (replay.protocol, chunks)))
    }

    /// Cancels a stream and drops it. False if there is none.
    pub(super) fn cancel_stream(&self, owner: &CallOwner, id: &str) -> bool {
        let found = self.0.lock_streams().remove(&(owner.clone(), id.to_owned()));
        found.is_some_and(|replay| {
            replay.cancel.cancel();
            !replay.was_fully_read()
        })
    }
}
