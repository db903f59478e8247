//! One-time tickets for sockets. Browsers cannot send a token when they open a socket, and a token must not be in a URL. So
//! they exchange it for a ticket, which opens one socket and expires soon.

use dashmap::DashMap;
use jiff::Timestamp;
use toolyard_core::ports::IdGenerator;
use toolyard_protocol::UserId;

use crate::{
    auth::{CallerContext, CredentialLease},
    error::RequestError,
};

/// Most unused tickets.
const MAX_TICKETS: usize = 10_000;
/// Most unused tickets of one user, so that no user can exhaust the total.
const MAX_OF_USER: usize = 8;

/// The socket that a ticket opens, and its user.
#[derive(Debug, Clone)]
pub(crate) enum TicketGrant {
    /// `/mcp/ws`.
    Mcp(CallerContext),
    /// `/glasses-ws`: the device of this user.
    Glasses(UserId, CredentialLease),
}

impl TicketGrant {
    fn user(&self) -> &UserId {
        match self {
            Self::Mcp(who) => &who.user,
            Self::Glasses(user, _) => user,
        }
    }
}

/// Issued tickets that are not used yet.
pub(crate) struct SocketTickets {
    issued: DashMap<String, (TicketGrant, Timestamp)>,
    lifetime_s: u64,
}

impl SocketTickets {
    pub(crate) fn new(lifetime_s: u64) -> Self {
        Self { issued: DashMap::new(), lifetime_s }
    }

    /// Issues a ticket. If the user has too many, the oldest is removed.
    pub(crate) fn issue(
        &self,
        opens: TicketGrant,
        now: Timestamp,
        ids: &dyn IdGenerator,
    ) -> Result<String, RequestError> {
        self.remove_expired(now);
        self.evict_oldest(opens.user());
        if self.issued.len() >= MAX_TICKETS {
            return Err(RequestError::unavailable("too many unused tickets; try again shortly"));
        }
        let ticket = ids.new_secret();
        let lifetime = i64::try_from(self.lifetime_s).unwrap_or(i64::MAX);
        let until = now.checked_add(jiff::SignedDuration::from_secs(lifetime)).unwrap_or(now);
        self.issued.insert(ticket.clone(), (opens, until));
        Ok(ticket)
    }

    /// Redeems a ticket. It is used up even if it does not fit the door. The key is 256 random bits, so the timing of the
    /// lookup reveals nothing.
    pub(crate) fn redeem(&self, ticket: &str, now: Timestamp) -> Option<TicketGrant> {
        let (_, (opens, until)) = self.issued.remove(ticket)?;
        (until > now).then_some(opens)
    }

    fn evict_oldest(&self, user: &UserId) {
        let mut own: Vec<(Timestamp, String)> = self
            .issued
            .iter()
            .filter(|entry| entry.value().0.user() == user)
            .map(|entry| (entry.value().1, entry.key().clone()))
            .collect();
        own.sort_unstable();
        let too_many = (own.len() + 1).saturating_sub(MAX_OF_USER);
        for (_, ticket) in own.into_iter().take(too_many) {
            self.issued.remove(&ticket);
        }
    }

    pub(crate) fn lifetime_s(&self) -> u64 {
        self.lifetime_s
    }

    pub(crate) fn remove_expired(&self, now: Timestamp) {
        self.issued.retain(|_, (_, until)| *until > now);
    }
}

#[cfg(test)]
mod tests {
    use toolyard_core::ports::SystemIds;

    use super::*;

    fn ada() -> TicketGrant {
        of("ada")
    }

    fn of(user: &str) -> TicketGrant {
        TicketGrant::Glasses(user.parse().unwrap(), CredentialLease::default())
    }

    #[test]
    fn tickets_per_user_are_limited_and_the_oldest_is_removed() {
        let tickets = SocketTickets::new(30);
        let at = |second: i64| Timestamp::from_second(1_000 + second).unwrap();
        let other = tickets.issue(of("bob"), at(0), &SystemIds).unwrap();
        let given: Vec<String> =
            (0..10).map(|second| tickets.issue(ada(), at(second), &SystemIds).unwrap()).collect();
        assert_eq!(tickets.issued.len(), MAX_OF_USER + 1);
        assert!(given[..2].iter().all(|ticket| tickets.redeem(ticket, at(9)).is_none()));
        assert!(given[2..].iter().chain([&other]).all(|ticket| tickets.redeem(ticket, at(9)).is_some()));
    }

    #[test]
    fn the_total_of_tickets_is_limited() {
        let tickets = SocketTickets::new(30);
        let (now, later) = (Timestamp::from_second(1_000).unwrap(), Timestamp::from_second(1_030).unwrap());
        let first = tickets.issue(ada(), now, &SystemIds).unwrap();
        for number in 1..MAX_TICKETS {
            tickets.issued.insert(number.to_string(), (of(&format!("user{number}")), later));
        }
        assert!(tickets.issue(ada(), now, &SystemIds).is_err());
        assert!(tickets.redeem(&first, now).is_some() && tickets.redeem(&first, now).is_none());
        assert!(tickets.issue(ada(), now, &SystemIds).is_ok());
        // Expired tickets make room.
        assert!(tickets.issue(ada(), later, &SystemIds).is_ok());
        assert_eq!(tickets.issued.len(), 1);
    }
}
