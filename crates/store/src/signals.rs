//! News inside one process.

use std::sync::{PoisonError, RwLock};

use toolyard_core::ports::{Change, Listener, Signals};

/// Calls every listener, in the order in which they came.
#[derive(Default)]
pub struct LocalSignals(RwLock<Vec<Listener>>);

impl Signals for LocalSignals {
    fn publish(&self, change: Change) {
        let listeners = self.0.read().unwrap_or_else(PoisonError::into_inner);
        listeners.iter().for_each(|listener| listener(&change));
    }

    fn listen(&self, listener: Listener) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(listener);
    }
}
