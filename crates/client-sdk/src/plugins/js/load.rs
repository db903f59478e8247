//! Loads a plugin from a manifest: verifies it, then grants what the user agreed to.

use std::sync::Arc;

use jiff::Timestamp;
use toolyard_protocol::plugin::{ContentHash, Manifest, PluginPermissions, Storage};
use toolyard_sandbox::{RunPermissions as Granted, StorageQuota, UrlHostPattern};
use toolyard_trust::{
    AllowList, Code, KeyList, PluginVerdict, RevocationList, TrustContext, audit_manifest, judge_manifest,
};

use super::{
    call::{self, JsRuntime},
    error::JsPluginError,
    host::JsHost,
};
use crate::plugin::Plugin;

/// Which signatures to trust, and at what time.
#[derive(Debug, Clone)]
pub struct JsTrust {
    /// The trusted keys.
    pub keys: KeyList,
    /// The revoked keys and plugins.
    pub revocations: RevocationList,
    /// Unsigned plugins that may run, each by its id and content hash, with the permissions that were allowed.
    pub allowed: AllowList,
    /// The content hash that was installed, if any.
    pub pinned: Option<ContentHash>,
    /// The current time.
    pub now: Timestamp,
}

impl JsTrust {
    /// Trusts no key, so no plugin runs.
    pub fn empty(now: Timestamp) -> Self {
        Self {
            keys: KeyList::from_local_keys([]),
            revocations: RevocationList::default(),
            allowed: AllowList::default(),
            pinned: None,
            now,
        }
    }
}

/// A verified manifest. None of its code has run yet.
#[derive(Debug, Clone)]
pub struct JsPlugin {
    manifest: Manifest,
    verdict: PluginVerdict,
}

impl JsPlugin {
    /// Reads and verifies a manifest.
    pub fn load(manifest: &[u8], trust: &JsTrust) -> Result<Self, JsPluginError> {
        let manifest = Manifest::parse(manifest)?;
        let ground = TrustContext {
            keys: &trust.keys,
            revocations: &trust.revocations,
            allowed: &trust.allowed,
            pinned: trust.pinned.as_ref(),
            now: trust.now,
        };
        let verdict = judge_manifest(&manifest, &ground).map_err(JsPluginError::Form)?;
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

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Who signed it, and what it may do.
    pub fn verdict(&self) -> &PluginVerdict {
        &self.verdict
    }

    /// The most permissions that it can get.
    pub fn permissions(&self) -> &PluginPermissions {
        &self.verdict.permissions
    }

    /// The permissions that it would lack with these grants: `clock`, `network`, `storage`. Detected by scanning its code, so the
    /// list may be inaccurate.
    pub fn missing_permissions(&self, agreed: &PluginPermissions) -> Vec<&'static str> {
        let (asked, granted) = (&self.manifest.permissions, self.permissions().intersect(agreed));
        let beyond = asked.added_since(&granted);
        let report = audit_manifest(&self.manifest);
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

    /// The plugin with the permissions that the user agreed to, never more than [`JsPlugin::permissions`].
    pub fn plugin(&self, host: &JsHost, agreed: &PluginPermissions) -> Result<Plugin, JsPluginError> {
        let (id, hash) = (&self.manifest.id, &self.verdict.content_hash);
        if host.is_stuck(hash) {
            return Err(JsPluginError::Stuck { id: id.clone() });
        }
        let shared = Arc::new(JsRuntime {
            host: host.clone(),
            id: id.clone(),
            hash: hash.clone(),
            granted: self.grant_permissions(host, &self.permissions().intersect(agreed))?,
            missing_permissions: self.missing_permissions(agreed),
        });
        let plugin = Plugin::new(id.as_str(), &self.manifest.version);
        Ok(self.manifest.tools.iter().fold(plugin, |plugin, tool| plugin.tool(call::js_tool(tool, &shared))))
    }

    /// The permissions in the form that the sandbox takes.
    fn grant_permissions(
        &self,
        host: &JsHost,
        permissions: &PluginPermissions,
    ) -> Result<Granted, JsPluginError> {
        let hosts = permissions.network.iter().map(|host| {
            host.as_str().parse::<UrlHostPattern>().map_err(|error| JsPluginError::Network {
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
            storage: bytes
                .map(|bytes| host.open_storage(&self.storage_name(), StorageQuota { bytes, ..usual })),
            clock: self.manifest.may_know_time(permissions),
        })
    }

    /// The name of its storage. It includes the signer; [`PluginSigner`](toolyard_protocol::plugin::PluginSigner) explains why.
    fn storage_name(&self) -> String {
        format!("{}.{}", self.manifest.id, self.verdict.signer())
    }
}
