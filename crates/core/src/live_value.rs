//! A value that can be replaced while others read it: settings that are reloaded without a restart.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};

/// A shared value that can be replaced. Clones share it. Reading never blocks and takes no lock; a reader keeps the value
/// that it loaded, so load it once for each decision.
#[derive(Debug)]
pub struct LiveValue<T>(Arc<ArcSwap<T>>);

impl<T> LiveValue<T> {
    /// A value, until it is replaced.
    pub fn new(value: T) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(value)))
    }

    /// The current value, for a short look at it.
    pub fn load(&self) -> Guard<Arc<T>> {
        self.0.load()
    }

    /// The current value, to be held while waiting for something else.
    pub fn load_full(&self) -> Arc<T> {
        self.0.load_full()
    }

    /// Replaces the value for everyone who loads it from now on.
    pub fn replace(&self, value: T) {
        self.0.store(Arc::new(value));
    }
}

impl<T> Clone for LiveValue<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Default> Default for LiveValue<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for LiveValue<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_see_the_new_value_and_a_reader_keeps_the_old_one() {
        let value = LiveValue::new(1);
        let (clone, before) = (value.clone(), value.load());
        clone.replace(2);
        assert_eq!((**before, **value.load(), **clone.load()), (1, 2, 2));
        assert_eq!(*value.load_full(), 2);
    }
}
