//! Redeeming a ticket for a socket.

use super::SocketKind;
use crate::{ActorOfUser, CredentialLease, Platform, PlatformError};

/// Redeems a ticket: who opens the socket. It is used up even if it is for another kind of socket.
pub fn redeem_ticket(
    platform: &Platform,
    ticket: &str,
    opens: SocketKind,
) -> Result<ActorOfUser, PlatformError> {
    let now = platform.clock.now();
    // The credential of the holder may have expired or been revoked meanwhile.
    let is_valid = |who: &ActorOfUser| !CredentialLease::from(&who.actor).is_expired(&platform.tokens, now);
    platform.tickets.redeem(ticket, opens, now).filter(is_valid).ok_or_else(|| {
        let text = "the ticket was used already, has expired, or is for something else";
        PlatformError::BadCredential(text.to_owned())
    })
}
