//! One change of a user's tokens at a time, within this process. Between processes, the second one finds that the
//! stored tokens have changed.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

use super::error::OAuthError;
use super::store::TokenKey;

/// The last error and its time. Lives as long as a caller waits: callers that waited for an unresponsive authorization
/// server need not wait for it again, one after the other.
pub(super) type LastFailure = Option<(Timestamp, OAuthError)>;

type TokenLock = tokio::sync::Mutex<LastFailure>;

/// A lock for each key that is in use.
#[derive(Debug, Default)]
pub(super) struct TokenLocks(Mutex<HashMap<TokenKey, Weak<TokenLock>>>);

impl TokenLocks {
    /// Waits for all earlier callers.
    pub(super) async fn lock(&self, key: &TokenKey) -> OwnedMutexGuard<LastFailure> {
        let lock = {
            let mut locks = self.0.lock();
            locks.retain(|_, lock| lock.strong_count() > 0);
            locks.get(key).and_then(Weak::upgrade).unwrap_or_else(|| {
                let lock = Arc::<TokenLock>::default();
                locks.insert(key.clone(), Arc::downgrade(&lock));
                lock
            })
        };
        lock.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn key(upstream: &str) -> TokenKey {
        TokenKey { upstream: upstream.to_owned(), user: "ada".parse().unwrap() }
    }

    #[tokio::test]
    async fn the_same_key_waits_and_another_does_not() {
        let locks = TokenLocks::default();
        let held = locks.lock(&key("a")).await;
        assert!(locks.lock(&key("a")).now_or_never().is_none());
        assert!(locks.lock(&key("b")).now_or_never().is_some());
        drop(held);
        assert!(locks.lock(&key("a")).now_or_never().is_some());
    }

    #[tokio::test]
    async fn unused_locks_are_dropped() {
        let locks = TokenLocks::default();
        drop(locks.lock(&key("a")).await);
        let _held = locks.lock(&key("b")).await;
        assert_eq!(locks.0.lock().len(), 1);
    }
}
