//! Short-lived things of users, each under its own key: tickets, long results, authorizations in progress.
//!
//! This is no cache: what is kept is found until it expires or is taken, and only its own user can push it out early, unless
//! all users together have too much. So the order is exact, and time is the caller's.

use std::{
    borrow::Borrow,
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    hash::Hash,
};

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use toolyard_protocol::UserId;

/// How long entries are kept, and how many. Sizes are in the caller's unit: entries or bytes.
#[derive(Debug, Clone, Copy)]
pub struct ShelfLimits {
    /// How long an entry is kept.
    pub lifetime: SignedDuration,
    /// Total size of the entries of one user. The oldest of this user are evicted first.
    pub user_size: usize,
    /// Total size of all entries.
    pub total_size: usize,
    /// What happens beyond the total.
    pub overflow: ShelfOverflow,
}

/// What happens to a new entry if all users together have too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShelfOverflow {
    /// The oldest entries are evicted.
    EvictOldest,
    /// It is refused.
    Refuse,
}

/// A new entry does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no room for another entry")]
pub struct ShelfFull;

/// Entries that expire, with limits per user.
pub struct ExpiringShelf<K, V> {
    limits: ShelfLimits,
    table: Mutex<ShelfTable<K, V>>,
}

struct ShelfTable<K, V> {
    entries: HashMap<K, ShelfEntry<V>>,
    /// All keys, the oldest first. All live equally long, so this is also the order in which they expire.
    order: BTreeMap<u64, K>,
    users: HashMap<UserId, UserShare>,
    size: usize,
    /// The place of the next entry in `order`.
    next: u64,
}

struct ShelfEntry<V> {
    user: UserId,
    value: V,
    size: usize,
    place: u64,
    until: Timestamp,
}

/// What one user has: the places in `order`, and their total size.
#[derive(Default)]
struct UserShare {
    places: BTreeSet<u64>,
    size: usize,
}

impl<K: Hash + Eq + Clone, V> ExpiringShelf<K, V> {
    /// An empty shelf.
    pub fn new(limits: ShelfLimits) -> Self {
        let table = ShelfTable {
            entries: HashMap::new(),
            order: BTreeMap::new(),
            users: HashMap::new(),
            size: 0,
            next: 0,
        };
        Self { limits, table: Mutex::new(table) }
    }

    /// Keeps a value of a user, in place of an earlier one under the same key. An entry without a size counts as 1.
    pub fn insert(
        &self,
        user: &UserId,
        key: K,
        value: V,
        size: usize,
        now: Timestamp,
    ) -> Result<(), ShelfFull> {
        let (limits, size) = (&self.limits, size.max(1));
        if size > limits.user_size.min(limits.total_size) {
            return Err(ShelfFull);
        }
        let mut table = self.table.lock();
        table.remove(&key);
        table.make_room(limits, user, size, now)?;
        table.append(limits, user, key, value, size, now);
        Ok(())
    }

    /// The value under a key, or a new one if there is none. Its lifetime begins now, and its size is 1.
    pub fn renew_or_insert(
        &self,
        user: &UserId,
        key: K,
        now: Timestamp,
        create: impl FnOnce() -> V,
    ) -> Result<V, ShelfFull>
    where
        V: Clone,
    {
        let mut table = self.table.lock();
        let known = table.remove(&key).filter(|entry| entry.until > now).map(|entry| entry.value);
        let value = known.unwrap_or_else(create);
        table.make_room(&self.limits, user, 1, now)?;
        table.append(&self.limits, user, key, value.clone(), 1, now);
        Ok(value)
    }

    /// The value under a key, unless it has expired.
    pub fn get<Q>(&self, key: &Q, now: Timestamp) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
        V: Clone,
    {
        self.table.lock().entries.get(key).filter(|entry| entry.until > now).map(|entry| entry.value.clone())
    }

    /// Removes an entry and returns its value, unless it has expired. Of several callers, one gets it.
    pub fn take<Q>(&self, key: &Q, now: Timestamp) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.table.lock().remove(key).filter(|entry| entry.until > now).map(|entry| entry.value)
    }

    /// Removes all entries whose key matches.
    pub fn remove_where(&self, matches: impl Fn(&K) -> bool) {
        let mut table = self.table.lock();
        let found: Vec<K> = table.entries.keys().filter(|key| matches(key)).cloned().collect();
        for key in found {
            table.remove(&key);
        }
    }

    /// Removes expired entries. Called periodically, to free their memory.
    pub fn remove_expired(&self, now: Timestamp) {
        self.table.lock().remove_expired(now);
    }
}

impl<K: Hash + Eq + Clone, V> ShelfTable<K, V> {
    fn user_size(&self, user: &UserId) -> usize {
        self.users.get(user).map_or(0, |share| share.size)
    }

    /// Evicts what is too much with a new entry of this size.
    fn make_room(
        &mut self,
        limits: &ShelfLimits,
        user: &UserId,
        size: usize,
        now: Timestamp,
    ) -> Result<(), ShelfFull> {
        self.remove_expired(now);
        while self.user_size(user) + size > limits.user_size && self.remove_oldest_of(user) {}
        while self.size + size > limits.total_size {
            if limits.overflow == ShelfOverflow::Refuse {
                return Err(ShelfFull);
            }
            self.remove_oldest();
        }
        Ok(())
    }

    /// Adds an entry as the newest one.
    fn append(&mut self, limits: &ShelfLimits, user: &UserId, key: K, value: V, size: usize, now: Timestamp) {
        let until = now.checked_add(limits.lifetime).unwrap_or(Timestamp::MAX);
        let place = self.next;
        self.next += 1;
        let entry = ShelfEntry { user: user.clone(), value, size, place, until };
        let share = self.users.entry(entry.user.clone()).or_default();
        share.places.insert(entry.place);
        share.size += entry.size;
        self.size += entry.size;
        self.order.insert(entry.place, key.clone());
        self.entries.insert(key, entry);
    }

    fn remove<Q>(&mut self, key: &Q) -> Option<ShelfEntry<V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let entry = self.entries.remove(key)?;
        self.order.remove(&entry.place);
        self.size -= entry.size;
        if let Some(share) = self.users.get_mut(&entry.user) {
            share.places.remove(&entry.place);
            share.size -= entry.size;
            if share.places.is_empty() {
                self.users.remove(&entry.user);
            }
        }
        Some(entry)
    }

    fn remove_expired(&mut self, now: Timestamp) {
        while let Some((_, oldest)) = self.order.first_key_value()
            && self.entries.get(oldest).is_some_and(|entry| entry.until <= now)
        {
            self.remove_oldest();
        }
    }

    fn remove_oldest(&mut self) {
        if let Some((_, oldest)) = self.order.pop_first() {
            self.remove(&oldest);
        }
    }

    /// False if the user has none.
    fn remove_oldest_of(&mut self, user: &UserId) -> bool {
        let place = self.users.get(user).and_then(|share| share.places.first());
        let oldest = place.and_then(|place| self.order.get(place)).cloned();
        oldest.is_some_and(|oldest| self.remove(&oldest).is_some())
    }
}

/// Without its contents, which may be secret.
impl<K, V> fmt::Debug for ExpiringShelf<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpiringShelf").field("limits", &self.limits).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const LIMITS: ShelfLimits = ShelfLimits {
        lifetime: SignedDuration::from_secs(10),
        user_size: 4,
        total_size: 10,
        overflow: ShelfOverflow::EvictOldest,
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// A shelf whose values are their keys.
    struct Stage(ExpiringShelf<String, String>);

    impl Stage {
        fn new(limits: ShelfLimits) -> Self {
            Self(ExpiringShelf::new(limits))
        }

        fn put(&self, user: &str, key: &str, size: usize, second: i64) -> Result<(), ShelfFull> {
            self.0.insert(&user.parse().unwrap(), key.to_owned(), key.to_owned(), size, at(second))
        }

        fn has(&self, key: &str, second: i64) -> bool {
            self.0.get(key, at(second)).is_some()
        }

        /// Which of these keys are kept.
        fn kept(&self, keys: &str) -> String {
            keys.split(' ').filter(|key| self.has(key, 0)).collect::<Vec<_>>().join(" ")
        }

        fn assert_empty(&self) {
            let table = self.0.table.lock();
            let left = (table.entries.len(), table.order.len(), table.users.len(), table.size);
            assert_eq!(left, (0, 0, 0, 0));
        }
    }

    #[test]
    fn an_entry_is_found_until_it_expires() {
        let shelf = Stage::new(LIMITS);
        shelf.put("ada", "a", 1, 0).unwrap();
        shelf.put("ada", "b", 1, 5).unwrap();
        assert!(shelf.has("a", 9) && !shelf.has("a", 10) && shelf.has("b", 10) && !shelf.has("c", 0));
        shelf.0.remove_expired(at(10));
        assert!(!shelf.has("a", 0), "freed");
        shelf.0.remove_expired(at(15));
        shelf.assert_empty();
    }

    #[test]
    fn a_renewed_entry_lives_on_and_is_the_newest() {
        let shelf = Stage::new(LIMITS);
        let ada = "ada".parse().unwrap();
        let renew = |key: &str, second| {
            shelf
                .0
                .renew_or_insert(&ada, key.to_owned(), at(second), || format!("{key} at {second}"))
                .unwrap()
        };
        assert_eq!(
            (renew("a", 0), renew("a", 9), renew("b", 9)),
            ("a at 0".into(), "a at 0".into(), "b at 9".into())
        );
        assert!(shelf.has("a", 18), "its lifetime began again");
        assert_eq!(renew("a", 19), "a at 19", "expired");
        for key in ["c", "d"] {
            renew(key, 11);
        }
        renew("b", 12);
        renew("e", 12);
        let kept = ["a", "b", "c", "d", "e"].map(|key| shelf.has(key, 12));
        assert_eq!(kept, [false, true, true, true, true], "the one used longest ago makes room");
    }

    #[test]
    fn an_entry_is_taken_once() {
        let shelf = Stage::new(LIMITS);
        shelf.put("ada", "a", 1, 0).unwrap();
        let taken: usize = thread::scope(|scope| {
            let takers: Vec<_> = (0..4).map(|_| scope.spawn(|| shelf.0.take("a", at(1)))).collect();
            takers.into_iter().filter_map(|taker| taker.join().unwrap()).count()
        });
        assert_eq!(taken, 1);
        shelf.put("ada", "b", 1, 0).unwrap();
        assert_eq!(shelf.0.take("b", at(10)), None, "expired");
        assert_eq!(shelf.0.take("b", at(0)), None, "and used up");
        shelf.assert_empty();
    }

    #[test]
    fn a_user_pushes_out_only_their_own_oldest_entries() {
        let shelf = Stage::new(LIMITS);
        shelf.put("bob", "b", 4, 0).unwrap();
        for key in ["1", "2", "3"] {
            shelf.put("ada", key, 1, 0).unwrap();
        }
        shelf.put("ada", "4", 3, 0).unwrap();
        assert_eq!(shelf.kept("b 1 2 3 4"), "b 3 4");
        assert_eq!(shelf.put("ada", "5", 5, 0), Err(ShelfFull), "larger than the limit of a user");
        assert_eq!(shelf.kept("b 3 4"), "b 3 4", "nothing is evicted for what cannot be kept");
    }

    #[test]
    fn the_oldest_of_all_make_room_or_the_new_entry_is_refused() {
        for (overflow, kept) in [(ShelfOverflow::EvictOldest, "c d"), (ShelfOverflow::Refuse, "a b c")] {
            let shelf = Stage::new(ShelfLimits { overflow, ..LIMITS });
            for (user, size) in [("a", 3), ("b", 3), ("c", 4)] {
                shelf.put(user, user, size, 0).unwrap();
            }
            assert_eq!(shelf.put("d", "d", 4, 1).is_ok(), overflow == ShelfOverflow::EvictOldest);
            assert_eq!(shelf.kept("a b c d"), kept);
            // A user at the limit makes room, and so do expired entries.
            shelf.put("c", "c2", 4, 2).unwrap();
            assert!(shelf.has("c2", 2) && !shelf.has("c", 2));
            shelf.put("e", "e", 4, 11).unwrap();
            assert!(shelf.has("e", 11));
        }
    }

    #[test]
    fn an_entry_under_the_same_key_is_replaced() {
        let shelf = Stage::new(LIMITS);
        shelf.put("ada", "a", 4, 0).unwrap();
        shelf.put("bob", "a", 2, 5).unwrap();
        assert!(shelf.has("a", 14), "with its own lifetime");
        shelf.put("ada", "b", 4, 5).unwrap();
        assert_eq!(shelf.kept("a b"), "a b", "the size of the earlier one is free");
        shelf.0.remove_where(|key| key == "a");
        assert_eq!(shelf.kept("a b"), "b");
        shelf.0.remove_where(|_| true);
        shelf.assert_empty();
    }

    #[test]
    fn entries_without_a_size_are_bounded_as_well() {
        let shelf = Stage::new(LIMITS);
        for key in ["1", "2", "3", "4", "5"] {
            shelf.put("ada", key, 0, 0).unwrap();
        }
        assert_eq!(shelf.kept("1 2 3 4 5"), "2 3 4 5");
    }

    #[test]
    fn a_clock_that_goes_back_does_not_extend_a_lifetime() {
        let shelf = Stage::new(LIMITS);
        shelf.put("ada", "late", 1, 100).unwrap();
        shelf.put("ada", "early", 1, 0).unwrap();
        shelf.0.remove_expired(at(50));
        assert!(!shelf.has("early", 50) && shelf.has("late", 50));
        shelf.0.remove_expired(at(110));
        shelf.assert_empty();
    }

    #[test]
    fn contents_are_not_printed() {
        let shelf = Stage::new(LIMITS);
        shelf.put("ada", "secret", 1, 0).unwrap();
        assert!(!format!("{:?}", shelf.0).contains("secret"));
    }
}
