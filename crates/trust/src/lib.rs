//! Who signed a plugin, whether it is still what was signed, and what it may therefore do.
//!
//! Pure: bytes and the time go in, a verdict comes out. Nothing here reads a file, asks the network or looks at the
//! clock, and no name is trusted: what counts is keys that a pinned root vouches for.
//!
//! | look for | in |
//! | --- | --- |
//! | the form that is signed and hashed | [`canonical_json`](fn@canonical), [`content_hash`] |
//! | keys and their texts | [`PublicKey`], [`SecretKey`] |
//! | signing a manifest | [`sign_manifest`](fn@sign), [`manifest_hash`] |
//! | the curators' lists, and the root that signs them | [`KeyList`], [`RevocationList`], [`RootPin`], [`hand_over`] |
//! | may it run, and with what | [`judge_manifest`](fn@judge) |
//! | what an update changes | [`compare_manifests`](fn@compare) |
//! | what a curator looks at before signing | [`audit_manifest`](fn@audit) |

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
