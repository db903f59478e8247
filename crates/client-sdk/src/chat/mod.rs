//! A chat: requests, and the tools that run between them, told as events.
//!
//! | look for | in |
//! | --- | --- |
//! | what is told | [`Event`], [`Answer`], [`ChatError`] |
//! | the story of a chat: ask, tell, run, ask again | `work` |
//! | tools side by side | `run`, `progress` |
//! | putting an answer together | `heard` |
//! | the body of a request | `body` |

mod answer;
mod body;
mod error;
mod event;
mod heard;
mod progress;
mod run;
mod slot;
mod telling;
mod work;

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use futures_util::{Stream, StreamExt as _, future::BoxFuture};

pub use answer::{Answer, CallResult, Finish};
pub use body::MAX_REQUEST_BYTES;
pub use error::{ChatError, Refusal};
pub use event::{Event, NOTICE_ABORT, NOTICE_HOOK, NOTICE_TOOL_ROUNDS};
pub use progress::{MAX_PROGRESS_CHARS, PROGRESS_QUEUE};
pub use run::{MAX_AT_ONCE, MAX_RESULT_BYTES};
pub use telling::{HEAD_TIMEOUT, LINGER, SILENCE};

pub(crate) use work::{First, Work};

use crate::message::Message;
use heard::Heard;
use slot::Slot;

/// What was heard, shared between who tells it and who wants to see it.
#[derive(Debug, Clone)]
struct Shared(Arc<Mutex<Heard>>);

impl Shared {
    /// Looks at it, or changes it.
    fn with<T>(&self, what: impl FnOnce(&mut Heard) -> T) -> T {
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A chat under way, as a stream of events; the last one is [`Event::Finish`] or [`Event::Error`].
///
/// Nothing happens unless it is read; only tools that have begun to run go on by themselves. Dropping it ends everything: the
/// request, and the tools that run.
#[must_use = "a chat does nothing unless it is read"]
pub struct ChatStream {
    /// None when it is over.
    work: Option<BoxFuture<'static, ()>>,
    slot: Slot,
    heard: Shared,
}

impl ChatStream {
    pub(crate) fn new(messages: Vec<Message>, work: impl FnOnce(Teller) -> BoxFuture<'static, ()>) -> Self {
        let (slot, heard) = (Slot::default(), Shared(Arc::new(Mutex::new(Heard::new(messages)))));
        let work = work(Teller { slot: slot.clone(), heard: heard.clone() });
        Self { work: Some(work), slot, heard }
    }

    /// Reads to the end.
    pub async fn collect(mut self) -> Result<Answer, ChatError> {
        while let Some(event) = self.next().await {
            match event {
                Event::Finish(answer) => return Ok(*answer),
                Event::Error(error) => return Err(error),
                _ => {}
            }
        }
        // Somebody has read the end before.
        Ok(self.so_far())
    }

    /// What was told until now: of a chat that goes on, that failed, or that nobody wants to hear the rest of. Its history can
    /// be sent again.
    pub fn so_far(&self) -> Answer {
        self.heard.with(|heard| heard.answer())
    }

    /// The messages of the last request as they were before hooks changed them: what [`Client::resume`](crate::Client::resume)
    /// needs after the connection broke.
    pub fn sent(&self) -> Vec<Message> {
        self.heard.with(|heard| heard.sent())
    }
}

impl Stream for ChatStream {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            if let Some(event) = self.slot.take() {
                return Poll::Ready(Some(event));
            }
            let Some(work) = &mut self.work else { return Poll::Ready(None) };
            let ended = work.as_mut().poll(cx).is_ready();
            if ended {
                self.work = None;
            } else if self.slot.is_empty() {
                return Poll::Pending;
            }
        }
    }
}

impl fmt::Debug for ChatStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatStream").field("over", &self.work.is_none()).finish_non_exhaustive()
    }
}

/// The other end of a [`ChatStream`].
pub(crate) struct Teller {
    slot: Slot,
    heard: Shared,
}

impl Teller {
    /// Tells an event; goes on when somebody has taken it.
    async fn say(&self, event: Event) {
        self.slot.put(event).await;
    }
}
