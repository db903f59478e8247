//! Whether a refresh token is rotated, answered again, or a sign of theft.
//!
//! Several processes of one client often share a refresh token and use it at the same moment. With strict rotation, the
//! second one looks like a thief and the person is signed out. So for a short time after a rotation, the token before the
//! current one gets the same successor as the first time. After it, that token is a replay and ends the grant.

use jiff::Timestamp;

/// How long after a rotation the token before it still gets the successor, in seconds.
pub const GRACE_WINDOW_S: i64 = 45;

/// The stored state of a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrantState {
    /// The generation of the current refresh token.
    pub generation: u32,
    /// When the current refresh token was issued by a rotation; `None` before the first one.
    pub rotated_at: Option<Timestamp>,
    /// Whether the grant was revoked.
    pub is_revoked: bool,
    /// When the grant expires.
    pub expires_at: Timestamp,
}

/// What to do with a refresh token whose MAC is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshDecision {
    /// Replace the stored generation by the next one, if it is still the presented one (compare and set), then issue
    /// that. If the stored one changed meanwhile, read it and decide again.
    Rotate {
        /// The next generation.
        next: u32,
    },
    /// Issue the current generation again, and change nothing.
    RepeatSuccessor {
        /// The current generation.
        current: u32,
    },
    /// An old token. Revoke the grant: either the client or a thief has used a copy.
    Replay,
    /// A generation that was not issued according to this state. Refuse it and revoke nothing: the state comes from a
    /// stale read or an old backup, because only this server can make the MAC.
    NotIssued,
    /// The grant has expired.
    Expired,
    /// The grant was revoked.
    Revoked,
}

/// Decides about a presented generation.
pub fn decide_rotation(state: &GrantState, presented: u32, now: Timestamp) -> RefreshDecision {
    if state.is_revoked {
        return RefreshDecision::Revoked;
    }
    if now >= state.expires_at {
        return RefreshDecision::Expired;
    }
    let current = state.generation;
    if presented == current {
        // Four billion rotations are not reached; if they were, the person signs in again.
        return current
            .checked_add(1)
            .map_or(RefreshDecision::Expired, |next| RefreshDecision::Rotate { next });
    }
    if presented > current {
        return RefreshDecision::NotIssued;
    }
    if presented + 1 == current && is_in_window(state.rotated_at, now) {
        return RefreshDecision::RepeatSuccessor { current };
    }
    RefreshDecision::Replay
}

/// A rotation that seems to be in the future was done by a node whose clock is ahead.
fn is_in_window(rotated_at: Option<Timestamp>, now: Timestamp) -> bool {
    rotated_at.is_some_and(|at| now.as_second().saturating_sub(at.as_second()) < GRACE_WINDOW_S)
}

#[cfg(test)]
mod tests;
