//! A chat: requests, and the tools that run between them, as a stream of events.
//!
//! | look for | in |
//! | --- | --- |
//! | events and results | [`ChatEvent`], [`ChatAnswer`], [`ChatError`] |
//! | the rounds of a chat: request, stream, run tools, repeat | `work`, `response` |
//! | asking the user about server tools | `approval` |
//! | running tools concurrently | `run`, `progress` |
//! | assembling the answer | `transcript` |
//! | the body of a request | `body` |

mod answer;
mod approval;
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
pub use approval::{ApprovalDecision, ApprovalRequest, OnApproval};
pub use body::MAX_REQUEST_BYTES;
pub use error::{ChatError, ChatRefusal};
pub use event::{ChatEvent, NOTICE_ABORT, NOTICE_HOOK, NOTICE_TOOL_ROUNDS};
pub use progress::{MAX_PROGRESS_CHARS, PROGRESS_QUEUE};
pub use response::{HEAD_TIMEOUT, IDLE_TIMEOUT, LINGER};
pub use run::{MAX_AT_ONCE, MAX_RESULT_BYTES};

pub(crate) use approval::boxed_approver;
pub(crate) use work::{ChatRun, ChatStart};

use crate::message::Message;
use slot::EventSlot;
use transcript::ChatTranscript;

/// The transcript, shared by the stream and the task that fills it.
#[derive(Debug, Clone)]
struct SharedTranscript(Arc<Mutex<ChatTranscript>>);

impl SharedTranscript {
    /// Reads or changes it under the lock.
    fn with_lock<T>(&self, what: impl FnOnce(&mut ChatTranscript) -> T) -> T {
        what(&mut self.0.lock())
    }
}

/// A running chat as a stream of events. The last one is [`ChatEvent::Finish`] or [`ChatEvent::Error`].
///
/// The stream is lazy: nothing happens unless you poll it. Only tools that already run continue by themselves. Dropping the
/// stream cancels the request and the running tools.
#[must_use = "a chat does nothing unless it is polled"]
pub struct ChatStream {
    /// `None` when the chat has ended.
    work: Option<BoxFuture<'static, ()>>,
    slot: EventSlot,
    transcript: SharedTranscript,
}

impl ChatStream {
    pub(crate) fn new(
        messages: Vec<Message>,
        work: impl FnOnce(EventSender) -> BoxFuture<'static, ()>,
    ) -> Self {
        let (slot, transcript) =
            (EventSlot::default(), SharedTranscript(Arc::new(Mutex::new(ChatTranscript::new(messages)))));
        let work = work(EventSender { slot: slot.clone(), transcript: transcript.clone() });
        Self { work: Some(work), slot, transcript }
    }

    /// Reads the stream to its end and returns the answer.
    pub async fn collect(mut self) -> Result<ChatAnswer, ChatError> {
        while let Some(event) = self.next().await {
            match event {
                ChatEvent::Finish(answer) => return Ok(*answer),
                ChatEvent::Error(error) => return Err(error),
                _ => {}
            }
        }
        // The last event was already taken.
        Ok(self.so_far())
    }

    /// The answer so far, also of a chat that is still running or that failed. You can send its history again.
    pub fn so_far(&self) -> ChatAnswer {
        self.transcript.with_lock(|transcript| transcript.to_answer())
    }

    /// The messages of the last request, before hooks changed them. [`Client::resume`](crate::Client::resume) needs them after a
    /// lost connection.
    pub fn sent_messages(&self) -> Vec<Message> {
        self.transcript.with_lock(|transcript| transcript.sent_messages())
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

/// The sending end of a [`ChatStream`].
pub(crate) struct EventSender {
    slot: EventSlot,
    transcript: SharedTranscript,
}

impl EventSender {
    /// Sends an event and waits until it was taken.
    async fn send(&self, event: ChatEvent) {
        self.slot.put(event).await;
    }
}
