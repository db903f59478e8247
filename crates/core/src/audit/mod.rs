//! The chain of the audit log: how entries are linked and proved, and how a chain is verified. Pure.
//!
//! Each entry has a hash of its content, its number and the hash before it, so nothing in the middle can be changed, removed or
//! inserted without changing every hash after it. The hashes need no key: whoever has an export can check it against a head that
//! was noted before. Each hash has a proof (HMAC) with a key that is derived from the root key, so someone who can write to the
//! database, but does not have the root key, cannot rebuild the chain. The proofs are renewed when the root key is rotated; the
//! hashes stay.

mod chain;
mod verify;

pub use self::{
    chain::{AuditAnchor, AuditDigest, AuditHead, AuditKeys, InvalidHead},
    verify::{AuditFault, AuditSummary, ChainVerifier},
};
