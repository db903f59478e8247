//! A cache with a fixed bound, for what can be made again: the least recently used entries are evicted first.

use std::{borrow::Borrow, fmt, hash::Hash};

use moka::{policy::EvictionPolicy, sync::Cache};

/// A bounded cache. An entry may be gone at any time, so nothing may depend on it being there.
pub struct BoundedCache<K, V> {
    entries: Cache<K, V>,
    sizes: Option<SizeLimit<V>>,
}

/// The largest total size, and how an entry is measured.
struct SizeLimit<V> {
    max_bytes: usize,
    size: fn(&V) -> usize,
}

impl<K, V> BoundedCache<K, V>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// A cache of at most this many entries.
    pub fn new(max_entries: usize) -> Self {
        // Not the default policy, which may refuse new entries in favour of those that were used more often.
        let builder = Cache::builder().eviction_policy(EvictionPolicy::lru());
        Self { entries: builder.max_capacity(max_entries as u64).build(), sizes: None }
    }

    /// A cache of at most this many entries and bytes. An entry that is larger than all of it is not kept.
    ///
    /// Both bounds share one measure: an entry counts at least `max_bytes / max_entries`, so a mix of small and large
    /// entries may fill the cache before either bound is reached.
    pub fn with_bytes(max_entries: usize, max_bytes: usize, size: fn(&V) -> usize) -> Self {
        // Bytes weigh more if there are fewer of them than entries, because a weight is a whole number.
        let scale = max_entries / max_bytes.max(1) + 1;
        let capacity = max_bytes.saturating_mul(scale).max(max_entries);
        let least = capacity / max_entries.max(1);
        let weigher = move |_: &K, value: &V| {
            u32::try_from(size(value).saturating_mul(scale).max(least)).unwrap_or(u32::MAX)
        };
        let builder = Cache::builder().eviction_policy(EvictionPolicy::lru()).weigher(weigher);
        let entries = builder.max_capacity(capacity as u64).build();
        Self { entries, sizes: Some(SizeLimit { max_bytes, size }) }
    }

    /// The value under a key.
    pub fn get<Q>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.entries.get(key)
    }

    /// Stores a value, in place of an earlier one under the same key. Store a value again if its size has changed.
    pub fn insert(&self, key: K, value: V) {
        if self.sizes.as_ref().is_some_and(|limit| (limit.size)(&value) > limit.max_bytes) {
            self.entries.invalidate(&key);
        } else {
            self.entries.insert(key, value);
        }
        self.evict();
    }

    /// The value under a key, made if it is missing. Callers that ask for the same key at once wait for one `make`.
    pub fn get_or_insert_with(&self, key: K, make: impl FnOnce() -> V) -> V {
        self.get_current_or_insert_with(key, |_| true, make)
    }

    /// The same, but a value that is no longer current is replaced.
    pub fn get_current_or_insert_with(
        &self,
        key: K,
        is_current: impl Fn(&V) -> bool,
        make: impl FnOnce() -> V,
    ) -> V {
        if let Some(known) = self.entries.get(&key).filter(&is_current) {
            return known;
        }
        let entry = self.entries.entry(key).or_insert_with_if(make, |known| !is_current(known));
        if entry.is_fresh() {
            self.evict();
        }
        entry.into_value()
    }

    /// Removes the value under a key.
    pub fn remove<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.entries.invalidate(key);
    }

    /// Removes every value.
    pub fn clear(&self) {
        self.entries.invalidate_all();
    }

    /// Evicts at once. Otherwise the cache is over its bounds until some later use of it.
    fn evict(&self) {
        self.entries.run_pending_tasks();
    }
}

/// Without its contents, which may be secret.
impl<K, V> fmt::Debug for BoundedCache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BoundedCache")
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc, Barrier,
            atomic::{AtomicUsize, Ordering},
        },
        thread,
    };

    use super::*;

    fn kept(cache: &BoundedCache<usize, Arc<[u8]>>) -> (u64, usize) {
        (cache.entries.entry_count(), cache.entries.iter().map(|(_, bytes)| bytes.len()).sum())
    }

    #[test]
    fn the_least_recently_used_entry_is_evicted() {
        let cache = BoundedCache::new(3);
        for key in 0..3 {
            cache.insert(key, key);
        }
        // Often used is not recently used.
        for _ in 0..100 {
            cache.get(&1);
        }
        cache.get(&0);
        cache.insert(3, 3);
        assert_eq!([0, 1, 2, 3].map(|key| cache.get(&key)), [Some(0), Some(1), None, Some(3)]);
        cache.insert(4, 4);
        cache.insert(5, 5);
        assert_eq!([0, 1, 2].map(|key| cache.get(&key)), [None; 3]);
        assert_eq!(cache.entries.entry_count(), 3);
    }

    #[test]
    fn entries_and_bytes_are_bounded_after_every_insert() {
        let cache = BoundedCache::with_bytes(10, 1_000, |bytes: &Arc<[u8]>| bytes.len());
        for key in 0..100 {
            cache.insert(key, vec![0; key * 10].into());
            let (entries, bytes) = kept(&cache);
            assert!(entries <= 10 && bytes <= 1_000, "{entries} {bytes}");
            assert!(cache.get(&key).is_some());
        }
        for key in 100..200 {
            cache.insert(key, Arc::default());
        }
        assert_eq!(kept(&cache), (10, 0));
        let tiny = BoundedCache::with_bytes(1_000, 5, |bytes: &Arc<[u8]>| bytes.len());
        for key in 0..10 {
            tiny.insert(key, vec![0; 2].into());
        }
        assert_eq!(kept(&tiny), (2, 4), "fewer bytes than entries");
    }

    #[test]
    fn an_entry_larger_than_the_cache_is_not_kept_and_evicts_nothing() {
        let cache = BoundedCache::with_bytes(10, 1_000, |bytes: &Arc<[u8]>| bytes.len());
        cache.insert(1, vec![0; 500].into());
        cache.insert(2, vec![0; 100].into());
        cache.insert(2, vec![0; 1_001].into());
        assert!(cache.get(&1).is_some() && cache.get(&2).is_none(), "the earlier value is gone, too");
        let none = BoundedCache::with_bytes(10, 0, |bytes: &Arc<[u8]>| bytes.len());
        none.insert(1, vec![0].into());
        none.insert(2, Arc::default());
        none.get_or_insert_with(3, || vec![0].into());
        assert_eq!(kept(&none), (1, 0));
    }

    #[test]
    fn a_value_that_grew_is_measured_again() {
        let cache = BoundedCache::with_bytes(10, 1_000, |bytes: &Arc<[u8]>| bytes.len());
        cache.insert(1, vec![0; 400].into());
        cache.insert(2, Arc::default());
        cache.insert(3, vec![0; 400].into());
        cache.insert(2, vec![0; 500].into());
        assert_eq!([1, 2, 3].map(|key| cache.get(&key).is_some()), [false, true, true]);
    }

    #[test]
    fn evicted_values_are_dropped() {
        let cache = BoundedCache::new(2);
        let values: Vec<_> = (0..1_000).map(Arc::new).collect();
        for value in &values {
            cache.insert(**value, value.clone());
        }
        let alive = values.iter().filter(|value| Arc::strong_count(value) > 1).count();
        // Freed in batches.
        assert!(alive <= 100, "{alive}");
    }

    #[test]
    fn a_value_is_replaced_when_it_is_no_longer_current() {
        let cache = BoundedCache::new(2);
        let at = |now: usize| cache.get_current_or_insert_with("k", |until| *until > now, || now + 10);
        assert_eq!([0, 9, 10, 19, 20].map(at), [10, 10, 20, 20, 30]);
    }

    #[test]
    fn callers_of_one_key_share_one_value() {
        let (cache, made, start) = (BoundedCache::new(2), AtomicUsize::new(0), Barrier::new(4));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    cache.get_or_insert_with("k", || made.fetch_add(1, Ordering::Relaxed))
                });
            }
        });
        assert_eq!((made.into_inner(), cache.get("k")), (1, Some(0)));
    }

    #[test]
    fn contents_are_not_printed() {
        let cache = BoundedCache::new(2);
        cache.insert("token", "secret");
        assert_eq!(format!("{cache:?}"), "BoundedCache");
    }
}
