//! Locks that outlive a panic: what they guard here is whole after every step.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
