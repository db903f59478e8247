//! Issuing a ticket for a socket.

use super::{NOT_FOR_APPS, SocketKind};
use crate::{ActorOfUser, Platform, PlatformError};

/// A new ticket.
#[derive(Debug)]
pub struct IssuedTicket {
    /// The ticket. It opens one socket.
    pub ticket: String,
    /// Its validity in seconds.
    pub expires_in_s: u64,
}

/// Issues a ticket with which a browser opens a socket in the name of the actor. Devices belong to people, so neither
/// an app nor a connected client gets a ticket for one.
pub fn issue_ticket(
    platform: &Platform,
    actor: ActorOfUser,
    opens: SocketKind,
) -> Result<IssuedTicket, PlatformError> {
    if opens == SocketKind::Glasses {
        actor.actor.require_person(NOT_FOR_APPS)?;
        actor.actor.refuse_client("a connected client cannot be a device")?;
    }
    let ticket = platform.tickets.issue(opens, actor, platform.clock.now(), &*platform.ids)?;
    Ok(IssuedTicket { ticket, expires_in_s: platform.tickets.lifetime_s() })
}
