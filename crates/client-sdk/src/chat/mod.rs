//! A chat: requests, and the tools that run between them, told as events.
//!
//! | look for | in |
//! | --- | --- |
//! | what is told | [`ChatEvent`], [`ChatAnswer`], [`ChatError`] |
//! | the story of a chat: ask, tell, run, ask again | `work` |
//! | tools side by side | `run`, `progress` |
//! | putting an answer together | `heard` |
//! | the body of a request | `body` |

mod answer;
mod body;
mod error;
mod event;
mod progress;
mod response;
mod run;
mod slot;
mod transcript;
mod work;

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{Stream, StreamExt as _, future::BoxFuture};
use parking_lot::Mutex;

pub use answer::{CallResult, ChatAnswer, ChatFinish};
pub use body::MAX_REQUEST_BYTES;
pub use error::{ChatError, ChatRefusal};
pub use event::{ChatEvent, NOTICE_ABORT, NOTICE_HOOK, NOTICE_TOOL_ROUNDS};
pub use progress::{MAX_PROGRESS_CHARS, PROGRESS_QUEUE};
pub use response::{HEAD_TIMEOUT, IDLE_TIMEOUT, LINGER};
pub use run::{MAX_AT_ONCE, MAX_RESULT_BYTES};

pub(crate) use work::{ChatRun, ChatStart};

use crate::message::Message;
use slot::EventSlot;
use transcript::ChatTranscript;

/// What was heard, shared between who tells it and who wants to see it.
#[derive(Debug, Clone)]
struct SharedTranscript(Arc<Mutex<ChatTranscript>>);

impl SharedTranscript {
    /// Looks at it, or changes it.
    fn with_lock<T>(&self, what: impl FnOnce(&mut ChatTranscript) -> T) -> T {
        what(&mut self.0.lock())
    }
}

/// A chat under way, as a stream of events; the last one is [`ChatEvent::Finish`] or [`ChatEvent::Error`].
///
/// Nothing happens unless it is read; only tools that have begun to run go on by themselves. Dropping it ends everything: the
/// request, and the tools that run.
#[must_use = "a chat does nothing unless it is read"]
pub struct ChatStream {
    /// None when it is over.
    work: Option<BoxFuture<'static, ()>>,
    slot: EventSlot,
    transcript: SharedTranscript,
}

impl ChatStream {
    pub(crate) fn new(
        messages: Vec<Message>,
        work: impl FnOnce(EventSender) -> BoxFuture<'static, ()>,
    ) -> Self {
        let (slot, heard) =
            (EventSlot::default(), SharedTranscript(Arc::new(Mutex::new(ChatTranscript::new(messages)))));
        let work = work(EventSender { slot: slot.clone(), transcript: heard.clone() });
        Self { work: Some(work), slot, transcript: heard }
    }

    /// Reads to the end.
    pub async fn collect(mut self) -> Result<ChatAnswer, ChatError> {
        while let Some(event) = self.next().await {
            match event {
                ChatEvent::Finish(answer) => return Ok(*answer),
                ChatEvent::Error(error) => return Err(error),
                _ => {}
            }
        }
        // Somebody has read the end before.
        Ok(self.so_far())
    }

    /// What was told until now: of a chat that goes on, that failed, or that nobody wants to hear the rest of. Its history can
    /// be sent again.
    pub fn so_far(&self) -> ChatAnswer {
        self.transcript.with_lock(|heard| heard.to_answer())
    }

    /// The messages of the last request as they were before hooks changed them: what [`Client::resume`](crate::Client::resume)
    /// needs after the connection broke.
    pub fn sent_messages(&self) -> Vec<Message> {
        self.transcript.with_lock(|heard| heard.sent_messages())
    }
}

impl Stream for ChatStream {
    type Item = ChatEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ChatEvent>> {
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
pub(crate) struct EventSender {
    slot: EventSlot,
    transcript: SharedTranscript,
}

impl EventSender {
    /// Tells an event; goes on when somebody has taken it.
    async fn send(&self, event: ChatEvent) {
        self.slot.put(event).await;
    }
}
