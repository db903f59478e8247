//! Browsers cannot send a token when they open a socket, and a token must not stand in a URL. So they get a ticket for
//! it, which opens one socket, soon.

use dashmap::DashMap;
use jiff::Timestamp;
use toolyard_core::ports::IdGenerator;
use toolyard_protocol::UserId;

use crate::{
    auth::{CallerContext, CredentialLease},
    error::RequestError,
};

/// Most tickets at once.
const MAX_TICKETS: usize = 10_000;
/// Most tickets of one user at once, so that nobody uses up those of the others.
const MAX_OF_USER: usize = 8;

/// What a ticket is good for, and for whom.
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

/// Tickets that were given and not used.
pub(crate) struct SocketTickets {
    issued: DashMap<String, (TicketGrant, Timestamp)>,
    lifetime_s: u64,
}

impl SocketTickets {
    pub(crate) fn new(lifetime_s: u64) -> Self {
        Self { issued: DashMap::new(), lifetime_s }
    }

    /// A ticket. A user's oldest gives way where there are too many of them.
    pub(crate) fn issue(
        &self,
        opens: TicketGrant,
        now: Timestamp,
        ids: &dyn IdGenerator,
    ) -> Result<String, RequestError> {
        self.remove_expired(now);
        self.evict_oldest(opens.user());
        if self.issued.len() >= MAX_TICKETS {
            return Err(RequestError::unavailable("too many tickets are about; try again shortly"));
        }
        let ticket = ids.new_secret();
        let lifetime = i64::try_from(self.lifetime_s).unwrap_or(i64::MAX);
        let until = now.checked_add(jiff::SignedDuration::from_secs(lifetime)).unwrap_or(now);
        self.issued.insert(ticket.clone(), (opens, until));
        Ok(ticket)
    }

    /// What the ticket is good for; it is good once, at the wrong door too. Looked up by a random key of 256 bits, so time
    /// tells nothing.
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
    fn a_user_has_so_many_and_the_oldest_gives_way() {
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
    fn there_are_so_many_tickets_at_once() {
        let tickets = SocketTickets::new(30);
        let (now, later) = (Timestamp::from_second(1_000).unwrap(), Timestamp::from_second(1_030).unwrap());
        let first = tickets.issue(ada(), now, &SystemIds).unwrap();
        for number in 1..MAX_TICKETS {
            tickets.issued.insert(number.to_string(), (of(&format!("user{number}")), later));
        }
        assert!(tickets.issue(ada(), now, &SystemIds).is_err());
        assert!(tickets.redeem(&first, now).is_some() && tickets.redeem(&first, now).is_none());
        assert!(tickets.issue(ada(), now, &SystemIds).is_ok());
        // What is too old makes room.
        assert!(tickets.issue(ada(), later, &SystemIds).is_ok());
        assert_eq!(tickets.issued.len(), 1);
    }
}
