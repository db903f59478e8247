//! `/api/usage/latency`: how long the newest calls took.

use axum::extract::State;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_core::ports::CallTiming;
use toolyard_core::ports::Stores;

use super::{
    super::{HandlerResult, ok_json},
    APP, OF, SINCE, TOOL, USER, UsageRequest,
};
use crate::{
    auth::KnownActor,
    extract::QueryParams,
    routes::{Route, RouteAccess},
};

/// Most calls that are evaluated.
const MAX_CALLS: u32 = 20_000;
/// Buckets of the histogram, each twice as wide as the one before.
const BUCKETS: usize = 24;
/// End of the first bucket, in microseconds.
const FIRST_BUCKET_US: u64 = 64;

pub(super) fn route() -> Route {
    Route::new(
        Method::GET,
        "/api/usage/latency",
        RouteAccess::Authenticated,
        "How long calls took: percentiles, steps and a histogram over the newest 20,000",
        get_latency,
    )
    .query(&[SINCE, APP, TOOL, USER, OF])
    .response_body::<LatencyReport>()
}

#[derive(Deserialize)]
struct LatencyQuery {
    user: Option<String>,
    of: Option<String>,
    app: Option<String>,
    tool: Option<String>,
    since: Option<String>,
}

/// How long calls took, in microseconds.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LatencyReport {
    /// Number of evaluated calls.
    count: usize,
    /// Whether older calls were left out.
    sampled: bool,
    p50_us: u64,
    p90_us: u64,
    p95_us: u64,
    p99_us: u64,
    max_us: u64,
    /// Number of calls by duration. Each bucket is twice as wide as the one before.
    histogram: Vec<LatencyBucket>,
    steps: StepLatencies,
}

/// Number of calls with a duration in this range.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LatencyBucket {
    /// Lower bound, inclusive.
    from_us: u64,
    /// Upper bound, exclusive.
    to_us: u64,
    count: u64,
}

/// Duration of each step. A step that was not reached counts as 0.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct StepLatencies {
    find: StepLatency,
    validate: StepLatency,
    authorize: StepLatency,
    ready: StepLatency,
    invoke: StepLatency,
    check: StepLatency,
}

/// Duration of a step.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct StepLatency {
    p50_us: u64,
    p95_us: u64,
}

async fn get_latency(
    State(stores): State<Stores>,
    KnownActor(who): KnownActor,
    QueryParams(query): QueryParams<LatencyQuery>,
) -> HandlerResult {
    let LatencyQuery { user, of, app, tool, since } = query;
    let filter = UsageRequest { user, of, app, tool, since, until: None }.into_filter(&who)?;
    let mut timings = stores.usage.list_timings(&filter, MAX_CALLS + 1).await?;
    let sampled = timings.len() > MAX_CALLS as usize;
    timings.truncate(MAX_CALLS as usize);
    ok_json(&summarize_timings(&timings, sampled))
}

fn summarize_timings(timings: &[CallTiming], sampled: bool) -> LatencyReport {
    let all = sorted_values(timings, |timing| timing.duration_us);
    let step = |of: fn(&CallTiming) -> u64| {
        let all = sorted_values(timings, of);
        StepLatency { p50_us: percentile(&all, 50), p95_us: percentile(&all, 95) }
    };
    LatencyReport {
        count: all.len(),
        sampled,
        p50_us: percentile(&all, 50),
        p90_us: percentile(&all, 90),
        p95_us: percentile(&all, 95),
        p99_us: percentile(&all, 99),
        max_us: all.last().copied().unwrap_or(0),
        histogram: histogram(&all),
        steps: StepLatencies {
            find: step(|timing| timing.steps.find),
            validate: step(|timing| timing.steps.validate),
            authorize: step(|timing| timing.steps.authorize),
            ready: step(|timing| timing.steps.ready),
            invoke: step(|timing| timing.steps.invoke),
            check: step(|timing| timing.steps.check),
        },
    }
}

fn sorted_values(timings: &[CallTiming], of: impl Fn(&CallTiming) -> u64) -> Vec<u64> {
    let mut all: Vec<u64> = timings.iter().map(of).collect();
    all.sort_unstable();
    all
}

/// The nearest-rank percentile of sorted values. 0 if there are none.
fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

fn histogram(sorted: &[u64]) -> Vec<LatencyBucket> {
    let mut from = 0;
    (0..BUCKETS)
        .map(|place| {
            // The last bucket is extended to the largest value.
            let to = if place + 1 == BUCKETS {
                (FIRST_BUCKET_US << place).max(sorted.last().map_or(0, |max| max.saturating_add(1)))
            } else {
                FIRST_BUCKET_US << place
            };
            let below = |end: u64| sorted.partition_point(|us| *us < end);
            let span = LatencyBucket { from_us: from, to_us: to, count: (below(to) - below(from)) as u64 };
            from = to;
            span
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use toolyard_protocol::api::StepTimes;

    use super::*;

    fn timing(duration_us: u64) -> CallTiming {
        let steps = StepTimes { find: 1, invoke: duration_us / 2, ..StepTimes::default() };
        CallTiming { duration_us, steps }
    }

    #[test]
    fn percentiles_are_values_of_the_sample() {
        let hundred: Vec<u64> = (1..=100).collect();
        for percent in [50, 90, 95, 99, 100] {
            assert_eq!(percentile(&hundred, percent), percent as u64);
        }
        assert_eq!((percentile(&[7], 50), percentile(&[7], 99), percentile(&[], 50)), (7, 7, 0));
        assert_eq!((percentile(&[1, 9], 50), percentile(&[1, 9], 51)), (1, 9));
    }

    #[test]
    fn every_call_is_in_one_bucket() {
        let longest = 400_000_000_000;
        let all = [0, 63, 64, 127, 128, 1_000, FIRST_BUCKET_US << (BUCKETS - 2), longest];
        let spans = histogram(&all);
        assert_eq!(spans.len(), BUCKETS);
        assert_eq!(spans.iter().map(|span| span.count).sum::<u64>(), all.len() as u64);
        assert_eq!(spans[0], LatencyBucket { from_us: 0, to_us: 64, count: 2 });
        assert_eq!(spans[1], LatencyBucket { from_us: 64, to_us: 128, count: 2 });
        assert_eq!(spans[BUCKETS - 1], LatencyBucket { from_us: 64 << 22, to_us: longest + 1, count: 2 });
        assert!(spans.windows(2).all(|pair| pair[0].to_us == pair[1].from_us));
        assert!(histogram(&[]).iter().all(|span| span.count == 0 && span.from_us < span.to_us));
    }

    #[test]
    fn latency_of_no_calls_is_zero() {
        let none = summarize_timings(&[], false);
        assert_eq!((none.count, none.p50_us, none.p99_us, none.max_us), (0, 0, 0, 0));
        assert_eq!(none.steps.invoke, StepLatency { p50_us: 0, p95_us: 0 });
        // In any order.
        let some = summarize_timings(&[timing(30), timing(10), timing(20)], true);
        assert_eq!((some.count, some.sampled, some.p50_us, some.max_us), (3, true, 20, 30));
        assert_eq!(some.steps.invoke, StepLatency { p50_us: 10, p95_us: 15 });
        assert_eq!(some.steps.find, StepLatency { p50_us: 1, p95_us: 1 });
    }
}
