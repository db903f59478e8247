//! Trust in tool definitions: what was accepted, whether it changed, and what looks suspicious.
//!
//! A definition comes from a third party and is read by a model, so a changed sentence can change what an assistant does.
//! This crate decides nothing about users and stores nothing. Functions are pure, deterministic and bounded.
//!
//! | look for | in |
//! | --- | --- |
//! | what a user accepted, as digests | [`digest`] |
//! | what changed, and whether it needs acceptance | [`change`] |
//! | a readable diff | [`diff`] |
//! | what is pinned, one by one | [`pin`] |
//! | what a package offers now, judged against what was accepted | [`review`] |
//! | suspicious content of definitions | [`scan`] |

#![warn(missing_docs)]

pub mod change;
pub mod diff;
pub mod digest;
mod excerpt;
pub mod pin;
pub mod review;
pub mod scan;
mod sketch;
mod word_diff;

pub use change::{ChangeClass, DefinitionChange, ListChange, compare_definitions, compare_lists};
pub use digest::{ContentDigest, DefinitionDigest, PinnedSurface};
pub use pin::{PinSubject, PinnedContent};
pub use scan::{ScanFinding, Severity, scan_definition, scan_list};
