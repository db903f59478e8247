//! `/api/usage/over-time`: number of calls in equal intervals.

use std::sync::Arc;

use axum::extract::State;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_core::ports::Clock;
use toolyard_core::ports::Stores;
use toolyard_core::ports::{CallSeries, SeriesBy, TimeBuckets};
use toolyard_protocol::session::iso_millis;

use super::{
    super::{HandlerResult, ok_json},
    APP, OF, TOOL, USER, UsageRequest,
};
use crate::{
    auth::KnownActor,
    error::RequestError,
    extract::QueryParams,
    routes::{Route, RouteAccess},
};

/// Default number of buckets.
const DEFAULT_BUCKETS: u32 = 48;
/// Maximum number of buckets.
const MAX_BUCKETS: u32 = 200;
/// Default time range.
const DEFAULT_SPAN: SignedDuration = SignedDuration::from_hours(24);

pub(super) fn route() -> Route {
    Route::new(
        Method::GET,
        "/api/usage/over-time",
        RouteAccess::Authenticated,
        "Calls and errors over time",
        get_over_time,
    )
    .query(&[
        ("since", "From this time on, ISO 8601. Default: 24 hours before `until`"),
        ("until", "Before this time, ISO 8601. Default: now"),
        ("buckets", "Maximum number of intervals, up to 200. Default: 48"),
        ("by", "Group by `app` or `tool`. Default: `app`"),
        APP,
        TOOL,
        USER,
        OF,
    ])
    .response_body::<OverTime>()
}

#[derive(Deserialize)]
struct OverTimeQuery {
    user: Option<String>,
    of: Option<String>,
    app: Option<String>,
    tool: Option<String>,
    since: Option<String>,
    until: Option<String>,
    buckets: Option<u32>,
    by: Option<SeriesGrouping>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum SeriesGrouping {
    App,
    Tool,
}

/// Calls over time.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OverTime {
    /// Start of the first interval, ISO 8601.
    from: String,
    /// End of the last interval, ISO 8601.
    to: String,
    /// Length of each interval.
    bucket_seconds: i64,
    /// The 12 largest, most calls first; then all others, and calls of unknown tools, under `*`.
    series: Vec<SeriesBody>,
    /// Outcomes of calls, most frequent first.
    outcomes: Vec<OutcomeCount>,
}

/// Calls of one app or tool.
#[derive(Serialize, JsonSchema)]
struct SeriesBody {
    key: String,
    /// In each interval.
    calls: Vec<u64>,
    /// In each interval.
    errors: Vec<u64>,
}

/// Number of calls with an outcome.
#[derive(Serialize, JsonSchema)]
struct OutcomeCount {
    /// `OK`, or the error code.
    code: String,
    count: u64,
}

impl From<CallSeries> for SeriesBody {
    fn from(CallSeries { key, calls, errors }: CallSeries) -> Self {
        Self { key, calls, errors }
    }
}

async fn get_over_time(
    State(clock): State<Arc<dyn Clock>>,
    State(stores): State<Stores>,
    KnownActor(who): KnownActor,
    QueryParams(query): QueryParams<OverTimeQuery>,
) -> HandlerResult {
    let OverTimeQuery { user, of, app, tool, since, until, buckets, by } = query;
    let filter = UsageRequest { user, of, app, tool, since, until }.into_filter(&who)?;
    let buckets = cut_buckets(
        filter.since,
        filter.until.unwrap_or_else(|| clock.now()),
        buckets.unwrap_or(DEFAULT_BUCKETS),
    )?;
    let by = match by {
        None | Some(SeriesGrouping::App) => SeriesBy::App,
        Some(SeriesGrouping::Tool) => SeriesBy::Tool,
    };
    let timeline = stores.usage.call_timeline(&filter, buckets, by).await?;
    let outcomes = timeline.outcomes.into_iter().map(|(code, count)| OutcomeCount { code, count });
    ok_json(&OverTime {
        from: iso_millis(buckets.from),
        to: iso_millis(buckets_end(&buckets)),
        bucket_seconds: buckets.millis / 1_000,
        series: timeline.series.into_iter().chain(timeline.rest).map(Into::into).collect(),
        outcomes: outcomes.collect(),
    })
}

/// Divides a time range into at most `buckets` buckets of whole seconds, none of them after the end.
fn cut_buckets(
    since: Option<Timestamp>,
    until: Timestamp,
    buckets: u32,
) -> Result<TimeBuckets, RequestError> {
    let from = match since {
        Some(since) => since,
        None => until.checked_sub(DEFAULT_SPAN).unwrap_or(Timestamp::UNIX_EPOCH),
    };
    let millis = until.as_millisecond() - from.as_millisecond();
    if millis <= 0 {
        return Err(RequestError::invalid_request("since: expected a time before `until`, or before now"));
    }
    if !(1..=MAX_BUCKETS).contains(&buckets) {
        return Err(RequestError::invalid_request(format!("buckets: expected 1 to {MAX_BUCKETS}")));
    }
    let ceiling = |whole: i64, part: i64| whole / part + i64::from(whole % part > 0);
    let bucket = ceiling(ceiling(millis, 1_000), i64::from(buckets)) * 1_000;
    let count = usize::try_from(ceiling(millis, bucket)).unwrap_or(1);
    Ok(TimeBuckets { from, until, millis: bucket, count })
}

fn buckets_end(buckets: &TimeBuckets) -> Timestamp {
    let length = buckets.millis.saturating_mul(i64::try_from(buckets.count).unwrap_or(i64::MAX));
    buckets.from.checked_add(SignedDuration::from_millis(length)).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(millis).unwrap()
    }

    #[test]
    fn a_time_range_is_divided_into_whole_seconds() {
        // Range, requested buckets; expected bucket length and count.
        for (span, wanted, millis, count) in [
            (86_400_000, 48, 1_800_000, 48),
            (86_400_000, 200, 432_000, 200),
            (10_000, 48, 1_000, 10),
            (10_500, 48, 1_000, 11),
            (1, 200, 1_000, 1),
            (100_000, 3, 34_000, 3),
            (100_000, 1, 100_000, 1),
            (101_000, 100, 2_000, 51),
        ] {
            let made = cut_buckets(Some(at(5_000)), at(5_000 + span), wanted).unwrap();
            assert_eq!((made.millis, made.count), (millis, count), "{span} {wanted}");
            let rest = buckets_end(&made).as_millisecond() - (5_000 + span);
            assert!((0..made.millis).contains(&rest), "{span} {wanted}: {rest}");
        }
        let day = cut_buckets(None, at(90_000_000), DEFAULT_BUCKETS).unwrap();
        assert_eq!((day.from, day.count), (at(3_600_000), 48));
        let all = cut_buckets(Some(Timestamp::MIN), Timestamp::MAX, MAX_BUCKETS).unwrap();
        assert!(all.count <= 200 && buckets_end(&all) == Timestamp::MAX, "{all:?}");
    }

    #[test]
    fn empty_time_ranges_and_too_many_buckets_are_refused() {
        assert!(cut_buckets(Some(at(5)), at(5), 10).is_err() && cut_buckets(Some(at(6)), at(5), 10).is_err());
        assert!(cut_buckets(Some(at(0)), at(5), 0).is_err() && cut_buckets(Some(at(0)), at(5), 201).is_err());
    }
}
