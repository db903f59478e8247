//! How much of a reply the parser holds or believes. Models ramble, and what they ramble about may come from outside.

/// Longest text of one call. A longer one is a bad call; the rest of it is swallowed.
pub const MAX_CALL_BYTES: usize = 64 * 1024;

/// Deepest JSON of a call.
pub const MAX_DEPTH: usize = 64;

/// Most calls of one reply, bad ones included. The next one is answered with a bad call, the others are swallowed.
pub const MAX_CALLS: usize = 32;

/// Most text that waits because the whole reply may be one bare call. More than that is text.
pub const MAX_HELD_BYTES: usize = MAX_CALL_BYTES;

/// Most text that waits because it may open a call: a marker and the first characters behind it.
pub const MAX_OPENING_BYTES: usize = 192;

/// Longest name of a tool or of an argument that is read at all.
pub const MAX_NAME_BYTES: usize = 128;

/// Most of a bad call that is shown to the model again.
pub const MAX_SHOWN_BYTES: usize = 1024;

/// Most names in "there are: …".
pub const MAX_LISTED_NAMES: usize = 20;
