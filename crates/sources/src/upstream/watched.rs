//! Which resources are watched on which connection, and for whom. A resource that nobody can hear of any more is dropped
//! after a while; a connection that is made anew watches what the one before it did.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dashmap::DashMap;
use toolyard_protocol::{PackageName, UserId};

use super::connections::Key;

/// Most resources that are watched on one connection.
pub(super) const MAX_WATCHED: usize = 1_000;

/// More are watched already than one connection can take.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooMany;

/// A resource's users, each with the second in which they last listened.
type Users = HashMap<UserId, u64>;

/// All of them, by the connection that tells of them.
#[derive(Default)]
pub(super) struct Watched(DashMap<Key, BTreeMap<String, Users>>);

impl Watched {
    /// A user wants to hear of a resource.
    pub(super) fn want(&self, key: &Key, uri: &str, user: &UserId, now_s: u64) -> Result<(), TooMany> {
        let mut uris = self.0.entry(key.clone()).or_default();
        if uris.len() >= MAX_WATCHED && !uris.contains_key(uri) {
            return Err(TooMany);
        }
        uris.entry(uri.to_owned()).or_default().insert(user.clone(), now_s);
        Ok(())
    }

    /// What a connection has to watch.
    pub(super) fn uris(&self, key: &Key) -> BTreeSet<String> {
        self.0.get(key).map(|uris| uris.keys().cloned().collect()).unwrap_or_default()
    }

    /// Whether a connection has anything to watch.
    pub(super) fn any(&self, key: &Key) -> bool {
        self.0.contains_key(key)
    }

    /// Drops what nobody listened for in so many seconds, and says whose connections have less to watch now.
    pub(super) fn drop_unheard(
        &self,
        now_s: u64,
        idle_s: u64,
        listens: impl Fn(&UserId) -> bool,
    ) -> Vec<Key> {
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

    /// Forgets a package, or what one user wanted of it.
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

    fn key() -> Key {
        Key { package: "mcp.x".parse().unwrap(), user: None, declared: None }
    }

    #[test]
    fn a_resource_goes_when_the_last_who_listened_is_away_for_long() {
        let (watched, key) = (Watched::default(), key());
        for (uri, who) in [("a:1", "ada"), ("a:1", "bob"), ("a:2", "bob")] {
            watched.want(&key, uri, &user(who), 0).unwrap();
        }
        let only_ada = |who: &UserId| who.as_str() == "ada";
        assert!(watched.drop_unheard(60, 60, only_ada).is_empty(), "bob may come back");
        assert_eq!(watched.drop_unheard(61, 60, only_ada), std::slice::from_ref(&key));
        assert_eq!(watched.uris(&key), ["a:1".to_owned()].into());
        assert_eq!(watched.drop_unheard(200, 60, |_| false), std::slice::from_ref(&key));
        assert!(!watched.any(&key));
    }

    #[test]
    fn a_connection_watches_so_many() {
        let (watched, key, ada) = (Watched::default(), key(), user("ada"));
        for number in 0..MAX_WATCHED {
            watched.want(&key, &format!("a:{number}"), &ada, 0).unwrap();
        }
        assert_eq!(watched.want(&key, "a:more", &ada, 0), Err(TooMany));
        assert_eq!(watched.want(&key, "a:0", &ada, 0), Ok(()));
        watched.forget(&key.package, Some(&user("bob")));
        assert!(watched.any(&key));
        watched.forget(&key.package, Some(&ada));
        assert!(!watched.any(&key));
    }
}
