//! How far calls are: a short queue for each of them. Where nobody reads, the middle is lost, never the first word of a call nor
//! the last.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::tool::ToolProgress;

/// Reports of one call that wait to be told.
pub const PROGRESS_QUEUE: usize = 16;
/// Longest message of a report, in characters; more is cut.
pub const MAX_PROGRESS_CHARS: usize = 1_000;

/// The reports of the calls that run.
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

    /// A call begins.
    pub(super) fn open_call(&self, call: &str) {
        self.lock().entry(call.to_owned()).or_default();
    }

    /// A call tells how far it is. Never waits; what comes after its end is lost.
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

    /// Something new may be there.
    pub(super) async fn changed(&self) {
        self.0.notify.notified().await;
    }

    /// All that waits, call by call.
    pub(super) fn take_all(&self) -> Vec<(String, ToolProgress)> {
        let mut waiting = self.lock();
        let taken = waiting
            .iter_mut()
            .flat_map(|(call, queue)| queue.drain(..).map(|progress| (call.clone(), progress)));
        taken.collect()
    }

    /// A call is over: its last reports.
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
        let told: Vec<f64> = reports.close_call("c").iter().map(|progress| progress.done).collect();
        assert_eq!(
            (told.len(), told[0], told[PROGRESS_QUEUE - 2], told[PROGRESS_QUEUE - 1]),
            (PROGRESS_QUEUE, 0.0, 14.0, 99.0)
        );
        assert_eq!(reports.close_call("d").len(), 1, "one that talks much takes nothing from the others");
        reports.push("c", at(5.0));
        assert!(reports.take_all().is_empty(), "after the end nothing is told");
    }

    #[test]
    fn long_messages_are_cut() {
        let reports = ProgressReports::default();
        reports.open_call("c");
        reports.push("c", ToolProgress { message: Some("é".repeat(5_000)), ..at(1.0) });
        assert_eq!(reports.take_all()[0].1.message.as_ref().unwrap().chars().count(), MAX_PROGRESS_CHARS);
    }
}
