//! How long and how often to reconnect.

use std::time::Duration;

use tokio::time::Instant;

/// The first and the longest pause; it doubles with each attempt.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// How long to keep trying.
const AWAY: Duration = Duration::from_secs(60);

/// Exponential backoff with a deadline.
#[derive(Default)]
pub(super) struct ReconnectPolicy {
    tries: u32,
    until: Option<Instant>,
}

impl ReconnectPolicy {
    /// A connection was lost after this time. If it lasted for a while, the backoff starts over. Otherwise it does not, or a
    /// server that accepts and drops each connection would be retried forever.
    pub(super) fn connection_lasted(&mut self, time: Duration) {
        if time >= PAUSE.1 {
            *self = Self::default();
        }
    }

    /// The pause before the next attempt.
    pub(super) fn next_pause(&mut self) -> Duration {
        self.until.get_or_insert_with(|| Instant::now() + AWAY);
        let pause = PAUSE.0.saturating_mul(2_u32.saturating_pow(self.tries.min(16))).min(PAUSE.1);
        self.tries = self.tries.saturating_add(1);
        pause
    }

    /// Whether the deadline has passed.
    pub(super) fn is_exhausted(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_double_until_the_deadline() {
        let mut patience = ReconnectPolicy::default();
        assert!(!patience.is_exhausted());
        let pauses: Vec<Duration> = (0..20).map(|_| patience.next_pause()).collect();
        assert_eq!((pauses[0], pauses[1], pauses[19]), (PAUSE.0, 2 * PAUSE.0, PAUSE.1));
        patience.connection_lasted(Duration::from_secs(1));
        assert_eq!(patience.next_pause(), PAUSE.1, "lost at once");
        tokio::time::advance(AWAY).await;
        assert!(patience.is_exhausted());
        patience.connection_lasted(PAUSE.1);
        assert!(!patience.is_exhausted());
        assert_eq!(patience.next_pause(), PAUSE.0);
    }
}
