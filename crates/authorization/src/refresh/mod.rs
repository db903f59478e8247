//! Refresh tokens: their form, and when they are rotated.
//!
//! A token names its grant and its generation, and a MAC proves that this server issued it. So no token has to be
//! stored, a forged one costs no query, and the same generation gives the same token again, which the grace window
//! needs.

mod rotation;
mod token;

pub use rotation::{GRACE_WINDOW_S, GrantState, RefreshDecision, decide_rotation};
pub use token::{GrantId, MAX_REFRESH_TOKEN_BYTES, RefreshKeys, RefreshToken};
