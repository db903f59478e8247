//! Limits the open streams and sockets of one user.

use std::sync::Arc;

use dashmap::DashMap;
use toolyard_protocol::api::ApiErrorCode;

use crate::error::RequestError;

/// Counts the open streams of each user.
#[derive(Debug)]
pub(crate) struct StreamSlots {
    limit: usize,
    open: Arc<DashMap<Box<str>, usize>>,
}

/// An open stream. Dropping it frees the slot.
#[derive(Debug)]
pub(crate) struct StreamSlot {
    open: Arc<DashMap<Box<str>, usize>>,
    owner: Box<str>,
}

impl StreamSlots {
    pub(crate) fn new(most: usize) -> Self {
        Self { limit: most, open: Arc::default() }
    }

    /// Reserves a slot for a stream of this user or app.
    pub(crate) fn reserve(&self, owner: &str) -> Result<StreamSlot, RequestError> {
        let mut open = self.open.entry(owner.into()).or_default();
        if *open >= self.limit {
            let text =
                format!("Too many open streams for {owner}: at most {}. Close one and retry.", self.limit);
            return Err(RequestError::new(ApiErrorCode::RateLimited, text));
        }
        *open += 1;
        Ok(StreamSlot { open: self.open.clone(), owner: owner.into() })
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.open.remove_if_mut(&self.owner, |_, open| {
            *open = open.saturating_sub(1);
            *open == 0
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_without_streams_are_forgotten() {
        let slots = StreamSlots::new(1);
        let slot = slots.reserve("ada").unwrap();
        assert!(slots.reserve("ada").is_err() && slots.reserve("bob").is_ok());
        drop(slot);
        assert!(slots.reserve("ada").is_ok() && slots.open.is_empty());
    }
}
