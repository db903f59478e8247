//! Limits of the parser. Models ramble, and what they repeat may come from outside.

/// Longest text of one call. A longer one is a bad call, and the rest of it is dropped.
pub const MAX_CALL_BYTES: usize = 64 * 1024;

/// Deepest JSON of a call.
pub const MAX_DEPTH: usize = 64;

/// Most calls in one reply, bad ones included. The next one is a bad call, and further ones are dropped.
pub const MAX_CALLS: usize = 32;

/// Most text that is held back because the whole reply may be a bare call. Longer text is shown.
pub const MAX_HELD_BYTES: usize = MAX_CALL_BYTES;

/// Most text that is held back because it may open a call: a marker and the first characters after it.
pub const MAX_OPENING_BYTES: usize = 192;

/// Longest accepted name of a tool or an argument.
pub const MAX_NAME_BYTES: usize = 128;

/// How much of a bad call is shown to the model.
pub const MAX_SHOWN_BYTES: usize = 1024;

/// Most names in the list of tools for the model.
pub const MAX_LISTED_NAMES: usize = 20;
