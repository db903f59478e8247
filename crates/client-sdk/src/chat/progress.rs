//! Progress of running calls: a short queue for each call. If the reader is slow, reports in the middle are dropped, never the
//! first or the last.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::tool::ToolProgress;

/// Progress reports of one call that may wait for the reader.
pub const PROGRESS_QUEUE: usize = 16;
/// Longest message of a report, in characters. Longer messages are cut.
pub const MAX_PROGRESS_CHARS: usize = 1_000;

/// The progress reports of the running calls.
#[derive(Debug, Default, Clone)]
pub(super) struct ProgressReports(Arc<ReportQueues>);

#[derive(Debug, Default)]
struct ReportQueues {
    waiting: Mutex<HashMap<String, VecDeque<ToolProgress>>>,
    notify: Notify,
}

impl ProgressReports {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, VecDeque<ToolProgress>>> {
        self.0.waiting.lock()
    }

    /// Opens the queue of a call.
    pub(super) fn open_call(&self, call: &str) {
        self.lock().entry(call.to_owned()).or_default();
    }

    /// Adds a report of a call. Never waits. Reports after the end of the call are dropped.
    pub(super) fn push(&self, call: &str, mut progress: ToolProgress) {
        if let Some(message) = &mut progress.message
            && let Some((end, _)) = message.char_indices().nth(MAX_PROGRESS_CHARS)
        {
            message.truncate(end);
        }
        if let Some(queue) = self.lock().get_mut(call) {
            if queue.len() == PROGRESS_QUEUE {
                queue.pop_back();
            }
            queue.push_back(progress);
            self.0.notify.notify_one();
        }
    }

    /// Waits until there may be new reports.
    pub(super) async fn changed(&self) {
        self.0.notify.notified().await;
    }

    /// Takes all waiting reports, call by call.
    pub(super) fn take_all(&self) -> Vec<(String, ToolProgress)> {
        let mut waiting = self.lock();
        let taken = waiting
            .iter_mut()
            .flat_map(|(call, queue)| queue.drain(..).map(|progress| (call.clone(), progress)));
        taken.collect()
    }

    /// Closes the queue of a call and returns its last reports.
    pub(super) fn close_call(&self, call: &str) -> VecDeque<ToolProgress> {
        self.lock().remove(call).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(done: f64) -> ToolProgress {
        ToolProgress { done, total: None, message: None }
    }

    #[test]
    fn the_middle_is_lost_and_never_the_last() {
        let reports = ProgressReports::default();
        reports.open_call("c");
        reports.open_call("d");
        for step in 0..100 {
            reports.push("c", at(f64::from(step)));
        }
        reports.push("d", at(1.0));
        let sent: Vec<f64> = reports.close_call("c").iter().map(|progress| progress.done).collect();
        assert_eq!(
            (sent.len(), sent[0], sent[PROGRESS_QUEUE - 2], sent[PROGRESS_QUEUE - 1]),
            (PROGRESS_QUEUE, 0.0, 14.0, 99.0)
        );
        assert_eq!(reports.close_call("d").len(), 1, "one that talks much takes nothing from the others");
        reports.push("c", at(5.0));
        assert!(reports.take_all().is_empty(), "after the end nothing is sent");
    }

    #[test]
    fn long_messages_are_cut() {
        let reports = ProgressReports::default();
        reports.open_call("c");
        reports.push("c", ToolProgress { message: Some("é".repeat(5_000)), ..at(1.0) });
        assert_eq!(reports.take_all()[0].1.message.as_ref().unwrap().chars().count(), MAX_PROGRESS_CHARS);
    }
}
