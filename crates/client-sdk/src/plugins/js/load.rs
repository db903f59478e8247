//! From the bytes of a manifest to a plugin: judged first, then given what was agreed to.

use std::sync::Arc;

use jiff::Timestamp;
use toolyard_protocol::plugin::{ContentHash, Manifest, Permissions, Storage};
use toolyard_sandbox::{HostPattern, Permissions as Granted, Quota};
use toolyard_trust::{AllowList, Code, Ground, KeyList, Revocations, Verdict, audit, judge};

use super::{
    call::{self, Shared},
    error::JsPluginError,
    host::JsHost,
};
use crate::plugin::Plugin;

/// Whom to believe, and when.
#[derive(Debug, Clone)]
pub struct JsTrust {
    /// The keys that are believed.
    pub keys: KeyList,
    /// What was called back.
    pub revocations: Revocations,
    /// Unsigned plugins that may run all the same, each by its id and content hash, with the permissions that were seen.
    pub allowed: AllowList,
    /// The content that was installed, if it was.
    pub pinned: Option<ContentHash>,
    /// The time.
    pub now: Timestamp,
}

impl JsTrust {
    /// Believes nobody: nothing runs.
    pub fn nobody(now: Timestamp) -> Self {
        Self {
            keys: KeyList::local([]),
            revocations: Revocations::default(),
            allowed: AllowList::default(),
            pinned: None,
            now,
        }
    }
}

/// A manifest that may run. Nothing of it has run yet.
#[derive(Debug, Clone)]
pub struct JsPlugin {
    manifest: Manifest,
    verdict: Verdict,
}

impl JsPlugin {
    /// Reads and judges a manifest.
    pub fn load(manifest: &[u8], trust: &JsTrust) -> Result<Self, JsPluginError> {
        let manifest = Manifest::read(manifest)?;
        let ground = Ground {
            keys: &trust.keys,
            revocations: &trust.revocations,
            allowed: &trust.allowed,
            pinned: trust.pinned.as_ref(),
            now: trust.now,
        };
        let verdict = judge(&manifest, &ground).map_err(JsPluginError::Form)?;
        let id = manifest.id.clone();
        if !verdict.runs {
            return Err(JsPluginError::Refused { id, verdict: Box::new(verdict) });
        }
        let too_old = semver::Version::parse(super::super::VERSION)
            .is_ok_and(|version| manifest.needs_newer_host(&version));
        if too_old {
            let needs = manifest.min_host_version.clone().unwrap_or_default();
            return Err(JsPluginError::HostTooOld { id, needs });
        }
        Ok(Self { manifest, verdict })
    }

    /// What it says of itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Who vouches for it, and for how much of it.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// The most that it gets.
    pub fn permissions(&self) -> &Permissions {
        &self.verdict.permissions
    }

    /// What it will miss with these permissions, by name: `clock`, `network`, `storage`. Found by reading its code, so it may
    /// be more or less than what it really needs.
    pub fn misses(&self, agreed: &Permissions) -> Vec<&'static str> {
        let (asked, granted) = (&self.manifest.permissions, self.permissions().within(agreed));
        let beyond = asked.beyond(&granted);
        let report = audit(&self.manifest);
        let unasked = |place: &str| {
            report.findings.iter().any(|found| found.code == Code::MissingPermission && found.place == place)
        };
        [
            (
                "clock",
                !self.manifest.may_know_time(&granted) && (beyond.clock || unasked("permissions.clock")),
            ),
            ("network", !beyond.network.is_empty() || unasked("permissions.network")),
            ("storage", !beyond.storage.is_none() || unasked("permissions.storage")),
        ]
        .into_iter()
        .filter_map(|(name, missing)| missing.then_some(name))
        .collect()
    }

    /// The plugin, with what the user agreed to and never more than [`JsPlugin::permissions`].
    pub fn plugin(&self, host: &JsHost, agreed: &Permissions) -> Result<Plugin, JsPluginError> {
        let (id, hash) = (&self.manifest.id, &self.verdict.content_hash);
        if host.is_stuck(hash) {
            return Err(JsPluginError::Stuck { id: id.clone() });
        }
        let shared = Arc::new(Shared {
            host: host.clone(),
            id: id.clone(),
            hash: hash.clone(),
            granted: self.granted(host, &self.permissions().within(agreed))?,
            misses: self.misses(agreed),
        });
        let plugin = Plugin::new(id.as_str(), &self.manifest.version);
        Ok(self.manifest.tools.iter().fold(plugin, |plugin, tool| plugin.tool(call::tool(tool, &shared))))
    }

    /// What the sandbox gives it.
    fn granted(&self, host: &JsHost, permissions: &Permissions) -> Result<Granted, JsPluginError> {
        let hosts = permissions.network.iter().map(|host| {
            host.as_str().parse::<HostPattern>().map_err(|error| JsPluginError::Network {
                id: self.manifest.id.clone(),
                host: host.to_string(),
                why: error.to_string(),
            })
        });
        let usual = host.quota();
        let bytes = match permissions.storage {
            Storage::None => None,
            Storage::Usual => Some(usual.bytes),
            Storage::Bytes(bytes) => Some(usual.bytes.min(usize::try_from(bytes).unwrap_or(usize::MAX))),
        };
        Ok(Granted {
            hosts: hosts.collect::<Result<_, _>>()?,
            storage: bytes.map(|bytes| host.storage(&self.shelf(), Quota { bytes, ..usual })),
            clock: self.manifest.may_know_time(permissions),
        })
    }

    /// Where its data is kept: [`Signer`](toolyard_protocol::plugin::Signer) says why whoever signed it belongs to the name.
    fn shelf(&self) -> String {
        format!("{}.{}", self.manifest.id, self.verdict.signer())
    }
}
