//! Both stores in memory, for one process and until it ends.

use std::collections::{HashMap, VecDeque};

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use toolyard_protocol::secret::SecretText;

use super::store::{OAuthStoreError, PendingFlow, PendingStore, TokenKey, TokenStore};

/// Concurrent flows per user; the oldest is dropped.
pub const MAX_FLOWS_OF_USER: usize = 8;
/// Concurrent flows.
const MAX_FLOWS: usize = 2_000;

/// Tokens in memory.
#[derive(Debug, Default)]
pub struct MemoryTokens(Mutex<HashMap<TokenKey, SecretText>>);

#[async_trait]
impl TokenStore for MemoryTokens {
    async fn load(&self, key: &TokenKey) -> Result<Option<SecretText>, OAuthStoreError> {
        Ok(lock_unpoisoned(&self.0).get(key).cloned())
    }

    async fn save(&self, key: &TokenKey, text: SecretText) -> Result<(), OAuthStoreError> {
        lock_unpoisoned(&self.0).insert(key.clone(), text);
        Ok(())
    }

    async fn replace(&self, key: &TokenKey, text: SecretText) -> Result<bool, OAuthStoreError> {
        Ok(lock_unpoisoned(&self.0).get_mut(key).map(|stored| *stored = text).is_some())
    }

    async fn clear(&self, key: &TokenKey) -> Result<(), OAuthStoreError> {
        lock_unpoisoned(&self.0).remove(key);
        Ok(())
    }
}

/// Flows in memory, oldest first.
#[derive(Debug, Default)]
pub struct MemoryPending(Mutex<VecDeque<(String, PendingFlow)>>);

#[async_trait]
impl PendingStore for MemoryPending {
    async fn put(&self, state: &str, flow: PendingFlow) -> Result<(), OAuthStoreError> {
        let mut flows = lock_unpoisoned(&self.0);
        let of_user = flows.iter().filter(|(_, other)| other.user == flow.user).count();
        let oldest = flows.iter().position(|(_, other)| other.user == flow.user);
        if let Some(oldest) = oldest.filter(|_| of_user >= MAX_FLOWS_OF_USER) {
            flows.remove(oldest);
        }
        // The oldest expires next, so dropping it does the least harm.
        if flows.len() >= MAX_FLOWS {
            flows.pop_front();
        }
        flows.push_back((state.to_owned(), flow));
        Ok(())
    }

    async fn take(&self, state: &str) -> Result<Option<PendingFlow>, OAuthStoreError> {
        let mut flows = lock_unpoisoned(&self.0);
        let place = flows.iter().position(|(known, _)| known == state);
        Ok(place.and_then(|place| flows.remove(place)).map(|(_, flow)| flow))
    }
}

fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn flow(user: &str) -> PendingFlow {
        PendingFlow {
            user: user.parse().unwrap(),
            text: SecretText::new("text"),
            expires_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[tokio::test]
    async fn a_flow_is_taken_once() {
        let store = MemoryPending::default();
        store.put("s", flow("ada")).await.unwrap();
        assert_eq!(store.take("s").await.unwrap(), Some(flow("ada")));
        assert_eq!(store.take("s").await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_user_pushes_out_only_their_own_flows() {
        let store = MemoryPending::default();
        store.put("bob", flow("bob")).await.unwrap();
        for index in 0..=MAX_FLOWS_OF_USER {
            store.put(&format!("ada{index}"), flow("ada")).await.unwrap();
        }
        assert_eq!(store.take("ada0").await.unwrap(), None);
        assert_eq!(store.take("ada1").await.unwrap(), Some(flow("ada")));
        assert_eq!(store.take("bob").await.unwrap(), Some(flow("bob")));
    }

    #[tokio::test]
    async fn there_is_an_end_to_all_flows() {
        let store = MemoryPending::default();
        for index in 0..=MAX_FLOWS {
            store.put(&index.to_string(), flow(&format!("user{index}"))).await.unwrap();
        }
        assert_eq!(store.take("0").await.unwrap(), None);
        assert_eq!(store.take("1").await.unwrap(), Some(flow("user1")));
        assert_eq!(lock_unpoisoned(&store.0).len(), MAX_FLOWS - 1);
    }
}
