//! What callers were told, compared with what ran.

use std::{collections::BTreeMap, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::app::Runs;

/// How a call ended for its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The tool's answer.
    Answer(String),
    /// An error code that is final: the tool did not run, or nobody knows.
    Final(String),
    /// Its caller gave up.
    GaveUp,
}

#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) user: String,
    pub(crate) text: String,
    /// Whether it had a key, and was repeated until it ended.
    pub(crate) has_key: bool,
    pub(crate) begun: Instant,
    pub(crate) ended: Instant,
    pub(crate) outcome: Outcome,
}

#[derive(Default)]
pub(crate) struct History {
    calls: Mutex<Vec<Call>>,
    failures: Mutex<Vec<(Instant, String)>>,
}

impl History {
    pub(crate) fn add(&self, call: Call) {
        self.calls.lock().push(call);
    }

    /// An attempt of a call that did not succeed, with what came back.
    pub(crate) fn add_failure(&self, begun: Instant, response: String) {
        self.failures.lock().push((begun, response));
    }

    /// The failed attempts of calls that were begun since then. Earlier ones may still suffer from an earlier fault.
    pub(crate) fn failures_since(&self, since: Instant) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for (_, response) in self.failures.lock().iter().filter(|(begun, _)| *begun >= since) {
            *counts.entry(response.clone()).or_default() += 1;
        }
        counts
    }

    /// Checks every call against what the app saw.
    pub(crate) fn check(&self, runs: &Runs) {
        let calls = self.calls.lock();
        assert!(!calls.is_empty(), "no calls were made");
        for call in calls.iter() {
            let ran = runs.get(&call.text).map(Vec::as_slice).unwrap_or_default();
            assert!(ran.iter().all(|run| run.user == call.user), "for another user: {call:?} {ran:?}");
            assert!(ran.len() <= 1, "ran twice: {call:?} {ran:?}");
            assert!(
                ran.iter().all(|run| run.at <= call.ended || call.outcome == Outcome::GaveUp),
                "ran after its end: {call:?} {ran:?}"
            );
            match &call.outcome {
                Outcome::Answer(answer) => {
                    assert_eq!(
                        *answer,
                        format!("{} {}", call.user, call.text),
                        "another call's answer: {call:?}"
                    );
                    assert_eq!(ran.len(), 1, "answered without running: {call:?}");
                }
                Outcome::Final(_) => {}
                Outcome::GaveUp => assert!(!call.has_key, "a call with a key has no outcome: {call:?}"),
            }
        }
    }

    pub(crate) fn summary(&self) -> String {
        let calls = self.calls.lock();
        let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
        for call in calls.iter() {
            let name = match &call.outcome {
                Outcome::Answer(_) => "answered".to_owned(),
                Outcome::Final(code) => code.clone(),
                Outcome::GaveUp => "no response".to_owned(),
            };
            *outcomes.entry(format!("{name}{}", if call.has_key { " (key)" } else { "" })).or_default() += 1;
        }
        let mut times: Vec<Duration> = calls.iter().map(|call| call.ended - call.begun).collect();
        times.sort();
        let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
        format!("{} calls: {outcomes:?}; p50 {:?}, p99 {:?}", calls.len(), at(50), at(99))
    }
}
