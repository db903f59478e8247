//! All limits of this crate.

use std::time::Duration;

use tokio::time::Instant;

/// Longest error body that is shown, in bytes.
pub(crate) const MAX_ERROR_TEXT_BYTES: usize = 1024;
/// `WWW-Authenticate` headers that are read, at most.
pub(crate) const MAX_CHALLENGES: usize = 8;
/// Messages queued for a process or a socket.
pub(crate) const MAX_OUTGOING: usize = 256;
/// Unanswered server requests per stream.
pub(crate) const MAX_OPEN_SERVER_REQUESTS: usize = 16;
/// Events that a slow receiver may lag behind.
pub(crate) const MAX_EVENTS_BEHIND: usize = 64;
/// Attempts in a row to resume a response stream without a new event.
pub(crate) const MAX_RESUMES: u32 = 6;
/// Longest delay that a server may request with `retry:`.
pub(crate) const MAX_RETRY_WAIT: Duration = Duration::from_secs(3600);
/// A stream without an event for this long is reopened: its peer may be gone without closing it.
pub(crate) const STREAM_IDLE: Duration = Duration::from_secs(900);

/// Limits that the caller can set.
#[derive(Debug, Clone)]
pub struct ClientLimits {
    /// Longest message: a body, a server-sent event, a line, a socket message.
    pub message_bytes: usize,
    /// Until the server's era and revision are known. A server may have to be installed first.
    pub connect: Duration,
    /// How long a server may leave the modern probe unanswered before the handshake is tried as well.
    pub probe: Duration,
    /// Default deadline of a request.
    pub request: Duration,
    /// Concurrent requests; further ones wait.
    pub in_flight: usize,
    /// Pages per list.
    pub list_pages: usize,
    /// Items per list.
    pub list_items: usize,
    /// Bytes per list.
    pub list_bytes: usize,
    /// First and longest delay before a closed stream is reopened.
    pub back_off: (Duration, Duration),
    /// Ping interval of a socket. A socket that is silent for twice as long is closed.
    pub ping: Duration,
    /// For optional steps: a cancellation, the end of a session, and, for a new client, opening the stream for server
    /// requests.
    pub courtesy: Duration,
    /// How long a process may take to exit: once after its input was closed, and again after SIGTERM.
    pub exit: Duration,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            message_bytes: 16 * 1024 * 1024,
            connect: Duration::from_secs(60),
            probe: Duration::from_secs(5),
            request: Duration::from_secs(60),
            in_flight: 256,
            list_pages: 200,
            list_items: 10_000,
            list_bytes: 64 * 1024 * 1024,
            back_off: (Duration::from_secs(1), Duration::from_secs(60)),
            ping: Duration::from_secs(30),
            courtesy: Duration::from_secs(2),
            exit: Duration::from_secs(2),
        }
    }
}

/// The start of a text, for error messages.
pub(crate) fn truncate_text(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(MAX_ERROR_TEXT_BYTES)]);
    text.trim().to_owned()
}

/// Exponential back-off: each delay is twice the previous one, up to a limit.
#[derive(Debug, Clone)]
pub(crate) struct BackOff {
    first: Duration,
    next: Duration,
    longest: Duration,
}

impl BackOff {
    pub(crate) fn new((first, longest): (Duration, Duration)) -> Self {
        Self { first, next: first, longest }
    }

    pub(crate) fn next(&mut self) -> Duration {
        let wait = self.next;
        self.next = (wait * 2).min(self.longest);
        wait
    }

    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }

    /// Resets the delay if something stayed open long enough. Opening alone does not prove that it is stable.
    pub(crate) fn reset_if_stable(&mut self, since: Instant) {
        if since.elapsed() > self.longest {
            self.reset();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_grow_up_to_a_limit() {
        let mut wait = BackOff::new(ClientLimits::default().back_off);
        let waits: Vec<_> = std::iter::repeat_with(|| wait.next().as_secs()).take(8).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        let since = Instant::now();
        tokio::time::advance(Duration::from_secs(60)).await;
        wait.reset_if_stable(since);
        assert_eq!(wait.next().as_secs(), 60);
        tokio::time::advance(Duration::from_secs(1)).await;
        wait.reset_if_stable(since);
        assert_eq!(wait.next().as_secs(), 1);
    }
}
