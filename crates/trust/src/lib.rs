//! Who signed a plugin, whether it is still what was signed, and what it may therefore do.
//!
//! Pure: bytes and the time go in, a verdict comes out. Nothing here reads a file, asks the network or looks at the
//! clock, and no name is trusted: what counts is keys that a pinned root vouches for.
//!
//! | look for | in |
//! | --- | --- |
//! | the form that is signed and hashed | [`canonical`](fn@canonical), [`content_hash`] |
//! | keys and their texts | [`PublicKey`], [`SecretKey`] |
//! | signing a manifest | [`sign`](fn@sign), [`hash`] |
//! | the curators' lists, and the root that signs them | [`KeyList`], [`Revocations`], [`Pin`], [`hand_over`] |
//! | may it run, and with what | [`judge`](fn@judge) |
//! | what an update changes | [`compare`](fn@compare) |
//! | what a curator looks at before signing | [`audit`](fn@audit) |

#![warn(missing_docs)]

mod allow;
mod audit;
mod canonical;
pub mod check;
mod compare;
mod judge;
mod judged;
mod key;
mod keys;
mod list;
mod pem;
mod pin;
mod revocations;
mod sign;
mod steady;

pub use allow::{AllowList, Allowed};
pub use audit::{Code, Finding, Report, Severity, audit};
pub use canonical::{canonical, content_hash};
pub use compare::{Change, compare};
pub use judge::{Covers, Ground, Status, Verdict, judge};
pub use judged::{JudgedManifest, PluginJudge};
pub use key::{KeyError, PublicKey, SecretKey};
pub use keys::{KeyEntry, KeyList, MAX_HANDOVERS, MAX_KEYS, hand_over};
pub use list::{ListError, MAX_LIST_BYTES};
pub use pin::Pin;
pub use revocations::{MAX_REVOCATIONS, Revocations, RevokedKey, RevokedPlugin};
pub use sign::{SignError, hash, sign, signed_bytes, tools_hash};
pub use steady::steady;
