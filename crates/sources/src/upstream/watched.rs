//! Which resources are watched on which connection, and for which users. A resource without a listening user is dropped
//! after a while; a new connection watches what the previous one did.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dashmap::DashMap;
use toolyard_protocol::{PackageName, UserId};

use super::connections::ConnectionKey;

/// Most watched resources per connection.
pub(super) const MAX_WATCHED: usize = 1_000;

/// The connection watches the maximum already.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooManyWatched;

/// The users of a resource, each with the second in which they last listened.
type WatchingUsers = HashMap<UserId, u64>;

/// All watched resources, by the connection that reports them.
#[derive(Default)]
pub(super) struct WatchedResources(DashMap<ConnectionKey, BTreeMap<String, WatchingUsers>>);

impl WatchedResources {
    /// Watches a resource for a user.
    pub(super) fn add(
        &self,
        key: &ConnectionKey,
        uri: &str,
        user: &UserId,
        now_s: u64,
    ) -> Result<(), TooManyWatched> {
        let mut uris = self.0.entry(key.clone()).or_default();
        if uris.len() >= MAX_WATCHED && !uris.contains_key(uri) {
            return Err(TooManyWatched);
        }
        uris.entry(uri.to_owned()).or_default().insert(user.clone(), now_s);
        Ok(())
    }

    /// The resources to watch on a connection.
    pub(super) fn uris(&self, key: &ConnectionKey) -> BTreeSet<String> {
        self.0.get(key).map(|uris| uris.keys().cloned().collect()).unwrap_or_default()
    }

    /// Whether any resource is watched on a connection.
    pub(super) fn has_any(&self, key: &ConnectionKey) -> bool {
        self.0.contains_key(key)
    }

    /// Drops resources whose users did not listen for this many seconds, and returns the connections that changed.
    pub(super) fn drop_unused(
        &self,
        now_s: u64,
        idle_s: u64,
        listens: impl Fn(&UserId) -> bool,
    ) -> Vec<ConnectionKey> {
        let mut changed = Vec::new();
        self.0.retain(|key, uris| {
            let before = uris.len();
            uris.retain(|_, users| {
                users.retain(|user, heard| {
                    if listens(user) {
                        *heard = now_s;
                    }
                    *heard + idle_s >= now_s
                });
                !users.is_empty()
            });
            if uris.len() != before {
                changed.push(key.clone());
            }
            !uris.is_empty()
        });
        changed
    }

    /// Forgets a package, or the resources of one user in it.
    pub(super) fn forget(&self, package: &PackageName, user: Option<&UserId>) {
        self.0.retain(|key, uris| {
            if key.package != *package {
                return true;
            }
            let Some(user) = user else { return false };
            uris.retain(|_, users| {
                users.remove(user);
                !users.is_empty()
            });
            !uris.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str) -> UserId {
        name.parse().unwrap()
    }

    fn key() -> ConnectionKey {
        ConnectionKey { package: "mcp.x".parse().unwrap(), user: None, declared: None }
    }

    #[test]
    fn a_resource_goes_when_the_last_who_listened_is_away_for_long() {
        let (watched, key) = (WatchedResources::default(), key());
        for (uri, who) in [("a:1", "ada"), ("a:1", "bob"), ("a:2", "bob")] {
            watched.add(&key, uri, &user(who), 0).unwrap();
        }
        let only_ada = |who: &UserId| who.as_str() == "ada";
        assert!(watched.drop_unused(60, 60, only_ada).is_empty(), "bob may come back");
        assert_eq!(watched.drop_unused(61, 60, only_ada), std::slice::from_ref(&key));
        assert_eq!(watched.uris(&key), ["a:1".to_owned()].into());
        assert_eq!(watched.drop_unused(200, 60, |_| false), std::slice::from_ref(&key));
        assert!(!watched.has_any(&key));
    }

    #[test]
    fn a_connection_watches_so_many() {
        let (watched, key, ada) = (WatchedResources::default(), key(), user("ada"));
        for number in 0..MAX_WATCHED {
            watched.add(&key, &format!("a:{number}"), &ada, 0).unwrap();
        }
        assert_eq!(watched.add(&key, "a:more", &ada, 0), Err(TooManyWatched));
        assert_eq!(watched.add(&key, "a:0", &ada, 0), Ok(()));
        watched.forget(&key.package, Some(&user("bob")));
        assert!(watched.has_any(&key));
        watched.forget(&key.package, Some(&ada));
        assert!(!watched.has_any(&key));
    }
}
