//! Streams that are opened by GET, in the handshake era only: an answer's stream that ended too early is taken up again,
//! and one stream stands by for what belongs to no request.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, header as names};
use tokio::time::{Instant, sleep};
use toolyard_net::Events;

use super::read::{is_stream, receive, status};
use crate::{
    ask::OpenAsks,
    error::ClientError,
    http::{Http, not_silent},
    limits::{BackOff, MAX_RESUMES, MAX_RETRY_WAIT, STREAM_IDLE},
    wire::Wire,
};

const LAST_EVENT_ID: &str = "last-event-id";

/// Where a stream goes on, and when.
#[derive(Debug)]
pub(crate) struct Resume {
    last_id: Option<String>,
    /// As the server wants it.
    retry: Option<Duration>,
    back_off: BackOff,
    /// In a row, without a new event.
    tries: u32,
}

impl Resume {
    pub(crate) fn new(back_off: BackOff) -> Self {
        Self { last_id: None, retry: None, back_off, tries: 0 }
    }

    /// An event came.
    pub(super) fn goes_on(&mut self) {
        self.tries = 0;
        self.back_off.reset();
    }

    /// Keeps what a stream said before it ended.
    pub(super) fn ended(&mut self, events: &Events) {
        if let Some(id) = events.last_id() {
            self.last_id = Some(id.to_owned());
        }
        self.retry = events.retry().or(self.retry);
    }

    /// How long to wait before the next try: the server's wish, or longer where tries keep failing.
    pub(crate) fn wait(&mut self) -> Duration {
        let own = self.back_off.next();
        match self.retry {
            Some(retry) if self.tries <= 1 => retry.min(MAX_RETRY_WAIT),
            Some(retry) => retry.min(MAX_RETRY_WAIT).max(own),
            None => own,
        }
    }

    /// One more try without a new event before it.
    pub(crate) fn failed(&mut self) {
        self.tries = self.tries.saturating_add(1);
    }

    /// A new session knows nothing of the old one's events.
    pub(crate) fn forget(&mut self) {
        self.last_id = None;
    }
}

impl Http {
    /// Takes up the stream of an answer that ended without it.
    pub(super) async fn resume(&self, resume: &mut Resume, why: &str) -> Result<Events, ClientError> {
        let Some(last_id) = resume.last_id.clone() else {
            return Err(ClientError::PerhapsSent(why.to_owned()));
        };
        loop {
            resume.failed();
            if resume.tries > MAX_RESUMES {
                let why = format!("{why}, and {MAX_RESUMES} tries did not bring it back");
                return Err(ClientError::PerhapsSent(why));
            }
            sleep(resume.wait()).await;
            match self.open_stream(Some(&last_id)).await {
                Ok(events) => return Ok(events),
                Err(error @ (ClientError::NotSent(_) | ClientError::PerhapsSent(_))) => {
                    tracing::debug!(%error, "a stream could not be taken up again; one more try");
                }
                Err(ClientError::Status { status, .. }) if status.is_server_error() => {
                    tracing::debug!(%status, "a stream could not be taken up again; one more try");
                }
                Err(error) => {
                    let why = format!("{why}, and it cannot be taken up again: {error}");
                    return Err(ClientError::PerhapsSent(why));
                }
            }
        }
    }

    /// Opens the standing stream and reads it to its end. `opened` is called once it is open; true where something may
    /// have been missed before that.
    pub(crate) async fn stand_by(
        &self,
        wire: &Wire,
        resume: &mut Resume,
        opened: impl FnOnce(bool),
    ) -> Result<(), ClientError> {
        let mut events = not_silent(self.open_stream(resume.last_id.as_deref())).await?.idle(STREAM_IDLE);
        opened(resume.last_id.is_none());
        let (asks, since) = (OpenAsks::default(), Instant::now());
        let ended = loop {
            match events.next().await {
                Ok(Some(event)) => {
                    resume.goes_on();
                    receive(wire, None, &asks, &event.data);
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error.into()),
            }
        };
        resume.ended(&events);
        resume.back_off.stood(since);
        ended
    }

    async fn open_stream(&self, last_id: Option<&str>) -> Result<Events, ClientError> {
        let mut headers = self.session_headers();
        headers.insert(names::ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = last_id.and_then(|id| HeaderValue::from_bytes(id.as_bytes()).ok()) {
            headers.insert(LAST_EVENT_ID, id);
        }
        let response = self.send(Method::GET, headers, Bytes::new()).await?;
        if !response.status.is_success() {
            // Not read any further: a lost session has many words.
            return Err(status(response.status, b""));
        }
        if !is_stream(&response) {
            return Err(ClientError::Malformed("a stream of events was asked for".to_owned()));
        }
        Ok(response.events(self.message_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_wish_counts_unless_tries_keep_failing() {
        let mut resume = Resume::new(BackOff::new(crate::limits::Limits::default().back_off));
        assert_eq!(resume.wait(), Duration::from_secs(1));
        resume.goes_on();
        resume.retry = Some(Duration::from_millis(500));
        resume.failed();
        assert_eq!(resume.wait(), Duration::from_millis(500));
        resume.failed();
        assert_eq!(resume.wait(), Duration::from_secs(2));
        resume.retry = Some(Duration::from_secs(10 * 3600));
        assert_eq!(resume.wait(), MAX_RETRY_WAIT);
    }
}
