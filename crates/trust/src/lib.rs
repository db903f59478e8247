//! Plugin trust: who signed a plugin, whether it was modified, and what it may do.
//!
//! Pure functions: bytes and the time go in, a verdict comes out. Nothing here does I/O or reads the
//! clock. Names are not trusted, only keys that a pinned root has signed.
//!
//! | look for | in |
//! | --- | --- |
//! | canonical form and hashes | [`canonical_json`], [`content_hash`] |
//! | keys and their text forms | [`PublicKey`], [`SecretKey`] |
//! | signing a manifest | [`sign_manifest`], [`manifest_hash`] |
//! | the curators' lists and their root key | [`KeyList`], [`RevocationList`], [`RootPin`], [`hand_over`] |
//! | whether a plugin may run | [`judge_manifest`] |
//! | what an update changes | [`compare_manifests`] |
//! | the audit before signing | [`audit_manifest`] |

#![warn(missing_docs)]

mod allow;
mod audit;
mod canonical;
pub mod check;
mod compare;
mod judge;
mod key;
mod keys;
mod list;
mod pem;
mod pin;
mod plugin_judge;
mod revocations;
mod sign;
mod validity;

pub use allow::{AllowList, AllowListEntry};
pub use audit::{AuditFinding, AuditReport, Code, Severity, audit_manifest};
pub use canonical::{canonical_json, content_hash};
pub use compare::{ManifestChange, compare_manifests};
pub use judge::{PluginVerdict, SignatureCoverage, TrustContext, TrustStatus, judge_manifest};
pub use key::{KeyError, PublicKey, SecretKey};
pub use keys::{KeyEntry, KeyList, MAX_HANDOVERS, MAX_KEYS, hand_over};
pub use list::{ListError, MAX_LIST_BYTES};
pub use pin::RootPin;
pub use plugin_judge::{JudgedManifest, PluginJudge};
pub use revocations::{MAX_REVOCATIONS, RevocationList, RevokedKey, RevokedPlugin};
pub use sign::{SignError, manifest_hash, sign_manifest, signed_bytes, tools_hash};
pub use validity::verdict_validity;
