//! Aggregates over the ledger: calls over time, and durations.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_protocol::{PackageName, ToolName, UserId, api::StepTimes};

use super::StoreError;

/// Most series that are listed separately; the rest is summed.
pub const MAX_SERIES: usize = 12;

/// Selects calls.
#[derive(Debug, Clone, Default)]
pub struct UsageFilter {
    /// For this user.
    pub user: Option<UserId>,
    /// Of apps of this owner.
    pub owner: Option<String>,
    /// Of this package.
    pub package: Option<PackageName>,
    /// Of this tool.
    pub tool: Option<ToolName>,
    /// At this time or later.
    pub since: Option<Timestamp>,
    /// Before this time.
    pub until: Option<Timestamp>,
}

/// What a series stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesBy {
    /// Each app.
    App,
    /// Each tool.
    Tool,
}

/// A time range, divided into equal buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeBuckets {
    /// The start of the first bucket.
    pub from: Timestamp,
    /// Where counting ends; at most the end of the last bucket.
    pub until: Timestamp,
    /// The length of each bucket in milliseconds; at least 1.
    pub millis: i64,
    /// The number of buckets.
    pub count: usize,
}

/// Calls of one app or tool over time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallSeries {
    /// The app or tool.
    pub key: String,
    /// Calls in each bucket.
    pub calls: Vec<u64>,
    /// How many of them failed.
    pub errors: Vec<u64>,
}

/// Calls over time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallTimeline {
    /// The largest series, most calls first.
    pub series: Vec<CallSeries>,
    /// The sum of all others, including calls of unknown tools.
    pub rest: Option<CallSeries>,
    /// How calls ended: `OK` or a code, most frequent first.
    pub outcomes: Vec<(String, u64)>,
}

/// The duration of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallTiming {
    /// In total, in microseconds.
    pub duration_us: u64,
    /// Each step.
    pub steps: StepTimes,
}

/// Aggregates over the ledger.
#[async_trait]
pub trait UsageLog: Send + Sync {
    /// Calls over time. Uses the time range of the buckets, not that of the filter.
    async fn call_timeline(
        &self,
        filter: &UsageFilter,
        buckets: TimeBuckets,
        by: SeriesBy,
    ) -> Result<CallTimeline, StoreError>;
    /// The durations of the newest matching calls, at most `limit`.
    async fn list_timings(&self, filter: &UsageFilter, limit: u32) -> Result<Vec<CallTiming>, StoreError>;
}

/// Builds a [`CallTimeline`] from counts that arrive key by key, with bounded memory.
#[derive(Debug)]
pub struct TimelineBuilder {
    buckets: usize,
    current: Option<CallSeries>,
    largest: Vec<CallSeries>,
    rest: Option<CallSeries>,
    outcomes: BTreeMap<String, u64>,
}

impl TimelineBuilder {
    /// Creates a builder with this many buckets.
    pub fn new(buckets: usize) -> Self {
        Self { buckets, current: None, largest: Vec::new(), rest: None, outcomes: BTreeMap::new() }
    }

    /// Adds calls with one outcome. All counts of one key must arrive together; None stands for unknown tools.
    pub fn add(&mut self, key: Option<&str>, bucket: usize, error: Option<&str>, count: u64) {
        *self.outcomes.entry(error.unwrap_or("OK").to_owned()).or_default() += count;
        let series = match key {
            None => self.rest.get_or_insert_with(|| empty_series("*", self.buckets)),
            Some(key) => {
                if self.current.as_ref().is_none_or(|current| current.key != key) {
                    self.finish_series();
                }
                self.current.get_or_insert_with(|| empty_series(key, self.buckets))
            }
        };
        if let Some(calls) = series.calls.get_mut(bucket) {
            *calls += count;
        }
        if let Some(errors) = series.errors.get_mut(bucket).filter(|_| error.is_some()) {
            *errors += count;
        }
    }

    /// Inserts the finished series among the largest, and adds the smallest to the rest if there are too many.
    fn finish_series(&mut self) {
        let Some(series) = self.current.take() else { return };
        let place = self.largest.partition_point(|other| {
            (total_calls(other), std::cmp::Reverse(&other.key))
                > (total_calls(&series), std::cmp::Reverse(&series.key))
        });
        self.largest.insert(place, series);
        if self.largest.len() > MAX_SERIES
            && let Some(small) = self.largest.pop()
        {
            let rest = self.rest.get_or_insert_with(|| empty_series("*", self.buckets));
            rest.calls.iter_mut().zip(&small.calls).for_each(|(sum, calls)| *sum += calls);
            rest.errors.iter_mut().zip(&small.errors).for_each(|(sum, errors)| *sum += errors);
        }
    }

    /// The timeline.
    pub fn build(mut self) -> CallTimeline {
        self.finish_series();
        let mut outcomes: Vec<_> = self.outcomes.into_iter().collect();
        outcomes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        CallTimeline { series: self.largest, rest: self.rest, outcomes }
    }
}

fn empty_series(key: &str, buckets: usize) -> CallSeries {
    CallSeries { key: key.to_owned(), calls: vec![0; buckets], errors: vec![0; buckets] }
}

fn total_calls(series: &CallSeries) -> u64 {
    series.calls.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_series_are_listed_and_the_rest_is_summed() {
        let mut made = TimelineBuilder::new(2);
        // Twenty keys; key n has n calls, and one error.
        for number in 1..=20_u64 {
            let key = format!("k{number:02}");
            made.add(Some(&key), 0, None, number - 1);
            made.add(Some(&key), 1, Some("TIMEOUT"), 1);
        }
        made.add(None, 1, Some("TOOL_NOT_FOUND"), 100);
        let made = made.build();
        let keys: Vec<_> = made.series.iter().map(|series| series.key.as_str()).collect();
        assert_eq!((keys.len(), keys[0], keys[11]), (MAX_SERIES, "k20", "k09"));
        assert_eq!(
            (made.series[0].calls.as_slice(), made.series[0].errors.as_slice()),
            (&[19, 1][..], &[0, 1][..])
        );
        let rest = made.rest.unwrap();
        assert_eq!((rest.key.as_str(), rest.calls, rest.errors), ("*", vec![28, 108], vec![0, 108]));
        let outcomes = [("OK", 190), ("TOOL_NOT_FOUND", 100), ("TIMEOUT", 20)];
        assert_eq!(made.outcomes, outcomes.map(|(code, count)| (code.to_owned(), count)));
    }

    #[test]
    fn equal_series_are_ordered_by_key_and_empty_ones_stay_empty() {
        assert_eq!(TimelineBuilder::new(3).build(), CallTimeline::default());
        let mut made = TimelineBuilder::new(1);
        for key in ["a", "b", "c"] {
            made.add(Some(key), 0, None, 1);
            // A bucket that is not there is not counted in one that is.
            made.add(Some(key), 7, None, 5);
        }
        let made = made.build();
        assert_eq!(made.series.iter().map(|series| series.key.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!((made.series[0].calls.clone(), made.rest), (vec![1], None));
    }
}
