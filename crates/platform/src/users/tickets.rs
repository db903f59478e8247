//! One-time tickets for sockets. Browsers cannot send a token when they open a socket, and a token must not be in a URL. So
//! they exchange it for a ticket, which opens one socket and expires soon.

use jiff::{SignedDuration, Timestamp};
use toolyard_core::{
    expiring_shelf::{ExpiringShelf, ShelfLimits, ShelfOverflow},
    ports::{HomeMarks, IdGenerator},
};

use crate::{ActorOfUser, PlatformError};

/// Most unused tickets.
const MAX_TICKETS: usize = 10_000;
/// Most unused tickets of one user, so that no user can exhaust the total.
const MAX_OF_USER: usize = 8;

/// The socket that a ticket opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketKind {
    /// An MCP client.
    Mcp,
    /// The user's device.
    Glasses,
}

#[derive(Clone)]
struct UnusedTicket {
    opens: SocketKind,
    holder: ActorOfUser,
}

/// Issued tickets that are not used yet. Only in memory: they are valid for seconds.
pub struct SocketTickets {
    issued: ExpiringShelf<String, UnusedTicket>,
    lifetime_s: u64,
    marks: HomeMarks,
}

impl SocketTickets {
    /// No tickets yet; each will be valid for this many seconds.
    pub fn new(lifetime_s: u64, marks: HomeMarks) -> Self {
        let limits = ShelfLimits {
            lifetime: SignedDuration::from_secs(i64::try_from(lifetime_s).unwrap_or(i64::MAX)),
            user_size: MAX_OF_USER,
            total_size: MAX_TICKETS,
            overflow: ShelfOverflow::Refuse,
        };
        Self { issued: ExpiringShelf::new(limits), lifetime_s, marks }
    }

    /// Issues a ticket. If the user has too many, the oldest is removed.
    pub(super) fn issue(
        &self,
        opens: SocketKind,
        holder: ActorOfUser,
        now: Timestamp,
        ids: &dyn IdGenerator,
    ) -> Result<String, PlatformError> {
        let user = holder.user.clone();
        let ticket = self.marks.mark_text(&user, ids.new_secret());
        let issued = self.issued.insert(&user, ticket.clone(), UnusedTicket { opens, holder }, 1, now);
        let text = "too many unused tickets; try again shortly";
        issued.map_err(|_| PlatformError::Unavailable(text.to_owned()))?;
        Ok(ticket)
    }

    /// Redeems a ticket. It is used up even if it opens another socket. The key is 256 random bits, so the timing of the
    /// lookup reveals nothing.
    pub(super) fn redeem(&self, ticket: &str, opens: SocketKind, now: Timestamp) -> Option<ActorOfUser> {
        self.issued.take(ticket, now).filter(|ticket| ticket.opens == opens).map(|ticket| ticket.holder)
    }

    /// The validity of a ticket, in seconds.
    pub(super) fn lifetime_s(&self) -> u64 {
        self.lifetime_s
    }

    /// Removes expired tickets. Called periodically.
    pub fn remove_expired(&self, now: Timestamp) {
        self.issued.remove_expired(now);
    }
}

#[cfg(test)]
mod tests {
    use toolyard_core::ports::SystemIds;
    use toolyard_protocol::api::Role;

    use super::*;
    use crate::{Actor, Credential};

    fn holder(name: &str) -> ActorOfUser {
        let (role, credential) = (Role::User, Credential::DevHeader);
        ActorOfUser {
            user: name.parse().unwrap(),
            actor: Actor::Person { name: name.to_owned(), role, credential },
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000 + second).unwrap()
    }

    fn issue(tickets: &SocketTickets, name: &str, second: i64) -> Result<String, PlatformError> {
        tickets.issue(SocketKind::Glasses, holder(name), at(second), &SystemIds)
    }

    fn redeems(tickets: &SocketTickets, ticket: &str, second: i64) -> bool {
        tickets.redeem(ticket, SocketKind::Glasses, at(second)).is_some()
    }

    #[test]
    fn tickets_per_user_are_limited_and_the_oldest_is_removed() {
        let tickets = SocketTickets::new(30, HomeMarks::default());
        let other = issue(&tickets, "bob", 0).unwrap();
        let given: Vec<String> = (0..10).map(|second| issue(&tickets, "ada", second).unwrap()).collect();
        assert!(given[..2].iter().all(|ticket| !redeems(&tickets, ticket, 9)));
        assert!(given[2..].iter().chain([&other]).all(|ticket| redeems(&tickets, ticket, 9)));
    }

    #[test]
    fn the_total_of_tickets_is_limited() {
        let tickets = SocketTickets::new(30, HomeMarks::default());
        let first = issue(&tickets, "ada", 0).unwrap();
        for number in 1..MAX_TICKETS {
            issue(&tickets, &format!("user{number}"), 0).unwrap();
        }
        assert!(matches!(issue(&tickets, "ada", 0), Err(PlatformError::Unavailable(_))));
        assert!(redeems(&tickets, &first, 0) && !redeems(&tickets, &first, 0));
        assert!(issue(&tickets, "ada", 0).is_ok());
        // Expired tickets make room.
        assert!(issue(&tickets, "ada", 30).is_ok());
    }
}
