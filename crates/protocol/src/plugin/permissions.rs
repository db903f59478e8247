//! The permissions that a plugin requests. Requesting grants nothing.

use serde::{Deserialize, Serialize};

use super::host::HostPattern;

/// Maximum number of hosts of one plugin.
pub const MAX_HOSTS: usize = 64;

/// The permissions that a plugin requests. Nothing else is available: no files, no environment, no other plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PluginPermissions {
    /// Hosts that `fetch` may connect to, each by name or as `*.example.com`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_HOSTS))]
    pub network: Vec<HostPattern>,
    /// Whether the plugin may store data with `storage`: `true`, or an object with a limit.
    #[serde(skip_serializing_if = "Storage::is_none")]
    pub storage: Storage,
    /// Whether `Date` returns the current time.
    #[serde(skip_serializing_if = "is_false")]
    pub clock: bool,
}

/// Storage that a plugin may use between calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(from = "WrittenStorage", into = "WrittenStorage")]
#[schemars(with = "WrittenStorage")]
pub enum Storage {
    /// None.
    #[default]
    None,
    /// The default limit of the host.
    Usual,
    /// At most this many bytes.
    Bytes(u64),
}

/// The written form: `true`, `false`, or `{"bytes": 65536}`.
#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged, expecting = "expected true, false or {\"bytes\": NUMBER}")]
enum WrittenStorage {
    Whether(bool),
    Bytes(StorageSize),
}

/// The requested storage.
#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct StorageSize {
    /// At most this many bytes.
    bytes: u64,
}

impl From<WrittenStorage> for Storage {
    fn from(written: WrittenStorage) -> Self {
        match written {
            WrittenStorage::Whether(false) | WrittenStorage::Bytes(StorageSize { bytes: 0 }) => Self::None,
            WrittenStorage::Whether(true) => Self::Usual,
            WrittenStorage::Bytes(StorageSize { bytes }) => Self::Bytes(bytes),
        }
    }
}

impl From<Storage> for WrittenStorage {
    fn from(storage: Storage) -> Self {
        match storage {
            Storage::None => Self::Whether(false),
            Storage::Usual => Self::Whether(true),
            Storage::Bytes(bytes) => Self::Bytes(StorageSize { bytes }),
        }
    }
}

impl Storage {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// The smaller of two. Only the host knows the limit of `Usual`, so a number counts as less.
    fn smaller_of(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, _) | (_, Self::None) => Self::None,
            (Self::Usual, size) | (size, Self::Usual) => size,
            (Self::Bytes(a), Self::Bytes(b)) => Self::Bytes(a.min(b)),
        }
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl PluginPermissions {
    /// Whether nothing is requested.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether connecting to a host is allowed.
    pub fn allows_host(&self, host: &str) -> bool {
        self.network.iter().any(|pattern| pattern.allows(host))
    }

    /// The permissions in both: never more than either of them.
    #[must_use]
    pub fn intersect(&self, limit: &Self) -> Self {
        let mut network: Vec<HostPattern> = Vec::new();
        let both = |a: &[HostPattern], b: &[HostPattern]| -> Vec<HostPattern> {
            a.iter().filter(|host| b.iter().any(|other| other.covers(host))).cloned().collect()
        };
        for host in both(&self.network, &limit.network).into_iter().chain(both(&limit.network, &self.network))
        {
            if !network.contains(&host) {
                network.push(host);
            }
        }
        Self { network, storage: self.storage.smaller_of(limit.storage), clock: self.clock && limit.clock }
    }

    /// The permissions that are not in `before`.
    #[must_use]
    pub fn added_since(&self, before: &Self) -> Self {
        let new = |host: &&HostPattern| !before.network.iter().any(|old| old.covers(host));
        let storage = if self.storage.smaller_of(before.storage) == self.storage {
            Storage::None
        } else {
            self.storage
        };
        Self {
            network: self.network.iter().filter(new).cloned().collect(),
            storage,
            clock: self.clock && !before.clock,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn asked(value: Value) -> PluginPermissions {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn storage_is_a_flag_or_a_size() {
        for (written, storage) in [
            (json!(true), Storage::Usual),
            (json!(false), Storage::None),
            (json!({ "bytes": 5 }), Storage::Bytes(5)),
        ] {
            let asked = asked(json!({ "storage": written }));
            assert_eq!(asked.storage, storage);
            assert_eq!(serde_json::from_value::<PluginPermissions>(json!(asked)).unwrap(), asked);
        }
        assert_eq!(asked(json!({ "storage": { "bytes": 0 } })).storage, Storage::None);
        for wrong in
            [json!({ "storage": 5 }), json!({ "storage": { "bytes": -1 } }), json!({ "files": true })]
        {
            assert!(serde_json::from_value::<PluginPermissions>(wrong.clone()).is_err(), "{wrong}");
        }
        assert_eq!(json!(PluginPermissions::default()), json!({}));
    }

    #[test]
    fn what_is_in_both_is_never_more_than_either() {
        let wide = asked(json!({ "network": ["*.a.com", "b.com", "c.com"], "storage": true, "clock": true }));
        let less = asked(json!({ "network": ["x.a.com", "b.com", "*.d.com"], "storage": { "bytes": 9 } }));
        let both = asked(json!({ "network": ["b.com", "x.a.com"], "storage": { "bytes": 9 } }));
        assert_eq!(wide.intersect(&less), both);
        assert!(
            less.intersect(&wide).added_since(&both).is_empty()
                && both.added_since(&less.intersect(&wide)).is_empty()
        );
        assert!(wide.intersect(&PluginPermissions::default()).is_empty());
    }

    #[test]
    fn only_what_is_new_is_beyond() {
        let before = asked(json!({ "network": ["*.a.com"], "storage": { "bytes": 9 } }));
        for (now, new) in [
            (json!({ "network": ["x.a.com"], "storage": { "bytes": 9 } }), json!({})),
            (json!({ "network": ["a.com"] }), json!({ "network": ["a.com"] })),
            (json!({ "storage": { "bytes": 10 } }), json!({ "storage": { "bytes": 10 } })),
            (json!({ "storage": true }), json!({ "storage": true })),
            (json!({ "clock": true }), json!({ "clock": true })),
        ] {
            assert_eq!(asked(now).added_since(&before), asked(new));
        }
        assert!(before.allows_host("x.a.com") && !before.allows_host("a.com"));
    }
}
