//! Browsers cannot send a token when they open a socket, and a token must not stand in a URL. So they get a ticket for
//! it, which opens one socket, soon.

use dashmap::DashMap;
use jiff::Timestamp;
use toolyard_core::ports::Ids;

use crate::auth::ActingFor;

/// Most tickets at once.
const MAX_TICKETS: usize = 10_000;

/// Tickets that were given and not used.
pub(crate) struct Tickets {
    given: DashMap<String, (ActingFor, Timestamp)>,
    lifetime_s: u64,
}

impl Tickets {
    pub(crate) fn new(lifetime_s: u64) -> Self {
        Self { given: DashMap::new(), lifetime_s }
    }

    /// A ticket for whoever acts. None where too many are about.
    pub(super) fn give(&self, who: ActingFor, now: Timestamp, ids: &dyn Ids) -> Option<String> {
        self.tidy(now);
        if self.given.len() >= MAX_TICKETS {
            return None;
        }
        let ticket = ids.secret();
        let lifetime = i64::try_from(self.lifetime_s).unwrap_or(i64::MAX);
        let until = now.checked_add(jiff::SignedDuration::from_secs(lifetime)).unwrap_or(now);
        self.given.insert(ticket.clone(), (who, until));
        Some(ticket)
    }

    /// Whose ticket it is; it is good once. Looked up by a random key of 256 bits, so time tells nothing.
    pub(super) fn take(&self, ticket: &str, now: Timestamp) -> Option<ActingFor> {
        let (_, (who, until)) = self.given.remove(ticket)?;
        (until > now).then_some(who)
    }

    pub(super) fn lifetime_s(&self) -> u64 {
        self.lifetime_s
    }

    pub(super) fn tidy(&self, now: Timestamp) {
        self.given.retain(|_, (_, until)| *until > now);
    }
}

#[cfg(test)]
mod tests {
    use toolyard_core::{Caller, catalog::Scope, ports::SystemIds};

    use super::*;

    fn ada() -> ActingFor {
        ActingFor {
            user: "ada".parse().unwrap(),
            caller: Caller::User,
            scope: Scope::Everything,
            until: None,
        }
    }

    #[test]
    fn there_are_so_many_tickets_at_once() {
        let tickets = Tickets::new(30);
        let (now, later) = (Timestamp::from_second(1_000).unwrap(), Timestamp::from_second(1_030).unwrap());
        let first = tickets.give(ada(), now, &SystemIds).unwrap();
        for number in 1..MAX_TICKETS {
            tickets.given.insert(number.to_string(), (ada(), later));
        }
        assert_eq!(tickets.give(ada(), now, &SystemIds), None);
        assert!(tickets.take(&first, now).is_some() && tickets.take(&first, now).is_none());
        assert!(tickets.give(ada(), now, &SystemIds).is_some());
        // What is too old makes room.
        assert!(tickets.give(ada(), later, &SystemIds).is_some());
        assert_eq!(tickets.given.len(), 1);
    }
}
