//! Where what comes before the answer to one request goes: progress, log messages, questions.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{Notify, mpsc};
use toolyard_protocol::call::CallProgress;

use crate::server_request::ServerRequest;

/// What the maker of a request wants to hear before the answer. Nothing here waits for a slow reader: progress and log
/// messages are dropped, questions are refused.
#[derive(Debug, Default)]
pub(crate) struct RequestInbox {
    pub(crate) progress: Option<mpsc::Sender<CallProgress>>,
    /// The largest so far.
    reached: Option<f64>,
    pub(crate) logs: Option<mpsc::Sender<Box<RawValue>>>,
    pub(crate) asks: Option<mpsc::Sender<ServerRequest>>,
    /// Told when a subscription stands.
    pub(crate) acknowledged: Option<Arc<Notify>>,
    /// Whose request it is.
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

    /// Passes progress on that is progress: each value larger than the one before.
    pub(crate) fn forward_progress(&mut self, params: &RawValue) {
        let Some(to) = &self.progress else { return };
        let Ok(progress) = serde_json::from_str::<CallProgress>(params.get()) else {
            tracing::debug!("progress that cannot be read");
            return;
        };
        if self.reached.is_some_and(|reached| progress.progress <= reached) {
            tracing::debug!("progress that goes back was dropped");
            return;
        }
        self.reached = Some(progress.progress);
        let _ = to.try_send(progress);
    }

    /// Passes a log message on; false where nobody wants it here.
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

/// The token of a progress notification: one of our ids.
pub(crate) fn progress_token(params: &RawValue) -> Option<u64> {
    #[derive(Deserialize)]
    struct Token<'a> {
        #[serde(rename = "progressToken", borrow)]
        token: &'a RawValue,
    }
    own_id(serde_json::from_str::<Token<'_>>(params.get()).ok()?.token)
}

/// An id as one of ours: a number, also where a server made a text of it.
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
