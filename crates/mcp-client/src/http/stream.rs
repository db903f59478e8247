//! Streams opened with GET, in the handshake era only: a response stream that ended too early is resumed, and one
//! standing stream receives what belongs to no request.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, header as names};
use tokio::time::{Instant, sleep};
use toolyard_net::SseStream;

use super::read::{handle_message, is_stream, status_error};
use crate::{
    error::McpClientError,
    http::{HttpConnection, with_idle_timeout},
    limits::{BackOff, MAX_RESUMES, MAX_RETRY_WAIT, STREAM_IDLE},
    server_request::OpenServerRequests,
    wire::McpConnection,
};

const LAST_EVENT_ID: &str = "last-event-id";

/// Position and timing for resuming a stream.
#[derive(Debug)]
pub(crate) struct StreamResumption {
    last_id: Option<String>,
    /// The delay that the server requested.
    retry: Option<Duration>,
    back_off: BackOff,
    /// Attempts in a row without a new event.
    tries: u32,
}

impl StreamResumption {
    pub(crate) fn new(back_off: BackOff) -> Self {
        Self { last_id: None, retry: None, back_off, tries: 0 }
    }

    /// Records that an event arrived.
    pub(super) fn record_event(&mut self) {
        self.tries = 0;
        self.back_off.reset();
    }

    /// Records the position at which a stream ended.
    pub(super) fn record_end(&mut self, events: &SseStream) {
        if let Some(id) = events.last_id() {
            self.last_id = Some(id.to_owned());
        }
        self.retry = events.retry_delay().or(self.retry);
    }

    /// Delay before the next attempt: as the server requested, or longer if attempts keep failing.
    pub(crate) fn next_delay(&mut self) -> Duration {
        let own = self.back_off.next();
        match self.retry {
            Some(retry) if self.tries <= 1 => retry.min(MAX_RETRY_WAIT),
            Some(retry) => retry.min(MAX_RETRY_WAIT).max(own),
            None => own,
        }
    }

    /// Records one more attempt without a new event.
    pub(crate) fn record_attempt(&mut self) {
        self.tries = self.tries.saturating_add(1);
    }

    /// A new session knows nothing of the old session's events.
    pub(crate) fn forget_position(&mut self) {
        self.last_id = None;
    }
}

impl HttpConnection {
    /// Resumes a response stream that ended without the response.
    pub(super) async fn resume_stream(
        &self,
        resume: &mut StreamResumption,
        why: &str,
    ) -> Result<SseStream, McpClientError> {
        let Some(last_id) = resume.last_id.clone() else {
            return Err(McpClientError::PerhapsSent(why.to_owned()));
        };
        loop {
            resume.record_attempt();
            if resume.tries > MAX_RESUMES {
                let why = format!("{why}, and {MAX_RESUMES} attempts to resume it failed");
                return Err(McpClientError::PerhapsSent(why));
            }
            sleep(resume.next_delay()).await;
            match self.open_stream(Some(&last_id)).await {
                Ok(events) => return Ok(events),
                Err(error @ (McpClientError::NotSent(_) | McpClientError::PerhapsSent(_))) => {
                    tracing::debug!(%error, "stream could not be resumed, retrying");
                }
                Err(McpClientError::Status { status, .. }) if status.is_server_error() => {
                    tracing::debug!(%status, "stream could not be resumed, retrying");
                }
                Err(error) => {
                    let why = format!("{why}, and it cannot be resumed: {error}");
                    return Err(McpClientError::PerhapsSent(why));
                }
            }
        }
    }

    /// Opens the standing stream and reads it to its end. `opened` is called once it is open, with `true` if events may
    /// have been missed before.
    pub(crate) async fn read_standing_stream(
        &self,
        wire: &McpConnection,
        resume: &mut StreamResumption,
        opened: impl FnOnce(bool),
    ) -> Result<(), McpClientError> {
        let mut events = with_idle_timeout(self.open_stream(resume.last_id.as_deref()))
            .await?
            .with_idle_timeout(STREAM_IDLE);
        opened(resume.last_id.is_none());
        let (asks, since) = (OpenServerRequests::default(), Instant::now());
        let ended = loop {
            match events.next().await {
                Ok(Some(event)) => {
                    resume.record_event();
                    handle_message(wire, None, &asks, &event.data);
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error.into()),
            }
        };
        resume.record_end(&events);
        resume.back_off.reset_if_stable(since);
        ended
    }

    async fn open_stream(&self, last_id: Option<&str>) -> Result<SseStream, McpClientError> {
        let mut headers = self.session_headers();
        headers.insert(names::ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = last_id.and_then(|id| HeaderValue::from_bytes(id.as_bytes()).ok()) {
            headers.insert(LAST_EVENT_ID, id);
        }
        let response = self.send_authorized(Method::GET, headers, Bytes::new()).await?;
        if !response.status.is_success() {
            // The body is not read: servers report a lost session in many ways.
            return Err(status_error(response.status, b""));
        }
        if !is_stream(&response) {
            return Err(McpClientError::Malformed("the response is not an event stream".to_owned()));
        }
        Ok(response.into_events(self.message_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_wish_counts_unless_tries_keep_failing() {
        let mut resume = StreamResumption::new(BackOff::new(crate::limits::ClientLimits::default().back_off));
        assert_eq!(resume.next_delay(), Duration::from_secs(1));
        resume.record_event();
        resume.retry = Some(Duration::from_millis(500));
        resume.record_attempt();
        assert_eq!(resume.next_delay(), Duration::from_millis(500));
        resume.record_attempt();
        assert_eq!(resume.next_delay(), Duration::from_secs(2));
        resume.retry = Some(Duration::from_secs(10 * 3600));
        assert_eq!(resume.next_delay(), MAX_RETRY_WAIT);
    }
}
