//! A slot for one event between the chat and its reader. The same task polls both in turn, so the transcript is never more than
//! one event ahead of the reader.

use std::{future::poll_fn, sync::Arc, task::Poll};

use parking_lot::{Mutex, MutexGuard};

use super::ChatEvent;

#[derive(Clone, Default)]
pub(super) struct EventSlot(Arc<Mutex<Option<ChatEvent>>>);

impl EventSlot {
    fn lock(&self) -> MutexGuard<'_, Option<ChatEvent>> {
        self.0.lock()
    }

    /// Stores an event and waits until it was taken. The reader polls the chat again whenever the slot is empty, so no waker is
    /// needed.
    pub(super) async fn put(&self, event: ChatEvent) {
        *self.lock() = Some(event);
        poll_fn(|_| if self.is_empty() { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    pub(super) fn take(&self) -> Option<ChatEvent> {
        self.lock().take()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_none()
    }
}
