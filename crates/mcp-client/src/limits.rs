//! Every bound of this crate that is not a server's own business.

use std::time::Duration;

use tokio::time::Instant;

/// Longest text of an error body that is shown.
pub(crate) const MAX_ERROR_TEXT_BYTES: usize = 1024;
/// Messages that wait to be written to a process or a socket.
pub(crate) const MAX_OUTGOING: usize = 256;
/// Requests of a server that wait for an answer of ours, for each stream.
pub(crate) const MAX_OPEN_SERVER_REQUESTS: usize = 16;
/// Events that a slow reader may be behind.
pub(crate) const MAX_EVENTS_BEHIND: usize = 64;
/// Times in a row that an answer's stream is taken up again without a new event.
pub(crate) const MAX_RESUMES: u32 = 6;
/// Longest wait that a server may ask for by `retry:`.
pub(crate) const MAX_RETRY_WAIT: Duration = Duration::from_secs(3600);
/// A stream without an event for so long is opened anew: its peer may be gone without a word.
pub(crate) const STREAM_IDLE: Duration = Duration::from_secs(900);

/// The bounds that a caller may set.
#[derive(Debug, Clone)]
pub struct ClientLimits {
    /// Longest message: a body, a server-sent event, a line, a socket message.
    pub message_bytes: usize,
    /// For everything until the server's era and revision are known. A server may have to be installed first.
    pub connect: Duration,
    /// How long a server may be silent on the modern probe before the handshake is tried as well.
    pub probe: Duration,
    /// For a request that brings no deadline of its own.
    pub request: Duration,
    /// Requests under way at once; more wait.
    pub in_flight: usize,
    /// Pages of one list.
    pub list_pages: usize,
    /// Items of one list.
    pub list_items: usize,
    /// Bytes of one list.
    pub list_bytes: usize,
    /// First and longest wait before a stream that ended is opened again.
    pub back_off: (Duration, Duration),
    /// How often a socket is asked whether it is still there. One that is silent for twice as long is not.
    pub ping: Duration,
    /// For what is polite and not needed: a cancellation, the end of a session, and, for a new client, the stream on
    /// which questions come in.
    pub courtesy: Duration,
    /// How long a process may take to end: once after its input was closed, and once more after SIGTERM.
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

/// The start of a text, for people.
pub(crate) fn truncate_text(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(MAX_ERROR_TEXT_BYTES)]);
    text.trim().to_owned()
}

/// Waits that grow: each twice the one before, up to a limit.
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

    /// Something stood from then on. That it stood long makes the next failure a first one; that it opened does not.
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
