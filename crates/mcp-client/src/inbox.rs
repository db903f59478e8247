//! Receivers for what arrives before the response to one request: progress, log messages, server requests.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{Notify, mpsc};
use toolyard_protocol::call::CallProgress;

use crate::server_request::ServerRequest;

/// What the caller of a request wants to receive before the response. A slow receiver never blocks the connection:
/// progress and log messages are dropped, server requests are refused.
#[derive(Debug, Default)]
pub(crate) struct RequestInbox {
    pub(crate) progress: Option<mpsc::Sender<CallProgress>>,
    /// The highest progress so far.
    reached: Option<f64>,
    pub(crate) logs: Option<mpsc::Sender<Box<RawValue>>>,
    pub(crate) asks: Option<mpsc::Sender<ServerRequest>>,
    /// Notified when the server acknowledges a subscription.
    pub(crate) acknowledged: Option<Arc<Notify>>,
    /// The user on whose behalf the request is made.
    pub(crate) owner: Option<Arc<str>>,
}

impl RequestInbox {
    pub(crate) fn new(
        progress: Option<mpsc::Sender<CallProgress>>,
        logs: Option<mpsc::Sender<Box<RawValue>>>,
        asks: Option<mpsc::Sender<ServerRequest>>,
        stands: Option<Arc<Notify>>,
    ) -> Self {
        Self { progress, reached: None, logs, asks, acknowledged: stands, owner: None }
    }

    pub(crate) fn owned_by(self, owner: Option<Arc<str>>) -> Self {
        Self { owner, ..self }
    }

    /// Forwards progress if it increases; other progress is dropped.
    pub(crate) fn forward_progress(&mut self, params: &RawValue) {
        let Some(to) = &self.progress else { return };
        let Ok(progress) = serde_json::from_str::<CallProgress>(params.get()) else {
            tracing::debug!("progress notification unreadable");
            return;
        };
        if self.reached.is_some_and(|reached| progress.progress <= reached) {
            tracing::debug!("progress notification dropped: not increasing");
            return;
        }
        self.reached = Some(progress.progress);
        let _ = to.try_send(progress);
    }

    /// Forwards a log message; `false` if this request has no receiver for it.
    pub(crate) fn forward_log(&self, params: &RawValue) -> bool {
        self.logs.as_ref().is_some_and(|logs| {
            let _ = logs.try_send(params.to_owned());
            true
        })
    }

    pub(crate) fn notify_acknowledged(&self) {
        if let Some(stands) = &self.acknowledged {
            stands.notify_one();
        }
    }
}

/// The token of a progress notification: one of our request ids.
pub(crate) fn progress_token(params: &RawValue) -> Option<u64> {
    #[derive(Deserialize)]
    struct Token<'a> {
        #[serde(rename = "progressToken", borrow)]
        token: &'a RawValue,
    }
    own_id(serde_json::from_str::<Token<'_>>(params.get()).ok()?.token)
}

/// Parses one of our request ids, which a server may send back as a string.
pub(crate) fn own_id(raw: &RawValue) -> Option<u64> {
    raw.get().trim_matches('"').parse().ok()
}

#[cfg(test)]
mod tests {
    use toolyard_protocol::raw::to_raw;

    use super::*;

    #[test]
    fn progress_only_grows() {
        let (to, mut from) = mpsc::channel(10);
        let mut inbox = RequestInbox::new(Some(to), None, None, None);
        for progress in [0.0, 0.0, 0.5, 0.4, 0.5, 1.0] {
            inbox.forward_progress(&to_raw(&serde_json::json!({ "progressToken": 1, "progress": progress })));
        }
        inbox.forward_progress(&to_raw(&serde_json::json!({ "progress": "much" })));
        drop(inbox);
        let mut seen = Vec::new();
        while let Ok(progress) = from.try_recv() {
            seen.push(progress.progress);
        }
        assert_eq!(seen, [0.0, 0.5, 1.0]);
    }

    #[test]
    fn a_slow_reader_of_progress_holds_nothing_up() {
        let (to, mut from) = mpsc::channel(1);
        let mut inbox = RequestInbox::new(Some(to), None, None, None);
        for progress in 1..100 {
            inbox.forward_progress(&to_raw(&serde_json::json!({ "progressToken": 1, "progress": progress })));
        }
        assert_eq!(from.try_recv().unwrap().progress, 1.0);
    }

    #[test]
    fn ids_are_read_also_as_texts() {
        for (id, own) in [("7", Some(7)), ("\"7\"", Some(7)), ("7.5", None), ("\"a\"", None), ("-1", None)] {
            assert_eq!(own_id(&RawValue::from_string(id.to_owned()).unwrap()), own, "{id}");
        }
    }
}
