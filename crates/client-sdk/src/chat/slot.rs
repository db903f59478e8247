//! Room for one event between the work and its reader. Both are polled by the same task, one after the other, so what was
//! told and what is known never differ by more than the event in hand.

use std::{future::poll_fn, sync::Arc, task::Poll};

use parking_lot::{Mutex, MutexGuard};

use super::ChatEvent;

#[derive(Clone, Default)]
pub(super) struct EventSlot(Arc<Mutex<Option<ChatEvent>>>);

impl EventSlot {
    fn lock(&self) -> MutexGuard<'_, Option<ChatEvent>> {
        self.0.lock()
    }

    /// Puts an event there and waits until it was taken. The reader polls the work again whenever the slot is empty, so nobody
    /// needs to be woken.
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
