//! Secrets in tool results: found by their issuers' formats, replaced by placeholders before a model reads the result, and
//! restored only when a tool of the same origin is called with them.
//!
//! Pure functions: text and random bytes go in, text comes out. Nothing here does I/O or reads the clock.
//!
//! | look for | in |
//! | --- | --- |
//! | which secrets a text has | [`find_secrets`] |
//! | replacing and restoring them in a conversation | [`Redactor`] |
//! | replacing them with placeholders from elsewhere | [`redact_json`], [`redact_text`] |
//! | the formats | `formats.rs` |
//!
//! ```
//! use toolyard_redaction::Redactor;
//!
//! let mut redactor = Redactor::new([7; 32]);
//! let result = r#"{"content":[{"type":"text","text":"npm_0123456789abcdefghijABCDEFGHIJ012345"}]}"#;
//! let redacted = redactor.redact_json("com.example.vault", result);
//! assert_eq!(redacted.count, 1);
//! assert!(!redacted.text.contains("npm_"));
//! ```

#![warn(missing_docs)]

mod alphabet;
mod context;
mod find;
mod formats;
mod json;
mod known;
mod private_key;
mod redactor;
mod restore;
mod table;
mod token;

pub use find::{SecretMatch, find_secrets};
pub use known::{KnownSecrets, MIN_KNOWN_BYTES};
pub use redactor::{RedactedText, Redactor, redact_json, redact_text};
pub use restore::{MAX_RESTORED_BYTES, RestoreOutcome, RestoredJson, may_have_placeholder};
pub use table::{MAX_ORIGINS, MAX_SECRET_BYTES, MAX_SECRETS, MAX_TABLE_BYTES};
