//! Reports over the ledger.

use std::sync::Arc;

use toolyard_core::ports::{CallRecord, CallTimeline, SeriesBy, TimeBuckets, UsageFilter};
use toolyard_protocol::ErrorCode;

use super::{FullStore, app_record, at_second, ledger::call_record, package_name};

fn buckets(from: i64, until: i64, seconds: i64, count: usize) -> TimeBuckets {
    TimeBuckets { from: at_second(from), until: at_second(until), millis: seconds * 1_000, count }
}

/// Key, calls and errors of each series.
fn series_counts(timeline: &CallTimeline) -> Vec<(&str, Vec<u64>, Vec<u64>)> {
    let series = timeline.series.iter().chain(&timeline.rest);
    series.map(|one| (one.key.as_str(), one.calls.clone(), one.errors.clone())).collect()
}

/// Each call in its bucket, each bound, each filter.
pub async fn calls_are_counted_over_time(store: &impl FullStore) {
    store.create_app(app_record("com.a", "ada", None)).await.unwrap();
    for (second, user, tool, error) in [
        (9, "ada", "com.a:x", None),
        (10, "ada", "com.a:x", None),
        (14, "ada", "com.a:x", Some(ErrorCode::Timeout)),
        (15, "bob", "com.a:z", None),
        (19, "ada", "com.b:y", Some(ErrorCode::Denied)),
        (20, "ada", "com.b:y", None),
    ] {
        store.record_call(call_record(second, user, tool, error)).await;
    }
    let none = CallRecord {
        package: None,
        ..Arc::unwrap_or_clone(call_record(16, "ada", "nonsense", Some(ErrorCode::ToolNotFound)))
    };
    store.record_call(Arc::new(none)).await;

    let span = buckets(10, 20, 5, 2);
    let all = store.call_timeline(&UsageFilter::default(), span, SeriesBy::App).await.unwrap();
    let (a, b) = (("com.a", vec![2, 1], vec![1, 0]), ("com.b", vec![0, 1], vec![0, 1]));
    let rest = ("*", vec![0, 1], vec![0, 1]);
    assert_eq!(series_counts(&all), [a.clone(), b.clone(), rest.clone()]);
    let outcomes = [("OK", 2), ("DENIED", 1), ("TIMEOUT", 1), ("TOOL_NOT_FOUND", 1)];
    assert_eq!(all.outcomes, outcomes.map(|(code, count)| (code.to_owned(), count)));

    let by_tool = store.call_timeline(&UsageFilter::default(), span, SeriesBy::Tool).await.unwrap();
    let (x, z) = (("com.a:x", vec![2, 0], vec![1, 0]), ("com.a:z", vec![0, 1], vec![0, 0]));
    let y = ("com.b:y", vec![0, 1], vec![0, 1]);
    assert_eq!(series_counts(&by_tool), [x.clone(), z.clone(), y, rest.clone()]);

    let only = async |filter: UsageFilter, by| store.call_timeline(&filter, span, by).await.unwrap();
    let ada = UsageFilter { user: Some("ada".parse().unwrap()), ..UsageFilter::default() };
    assert_eq!(
        series_counts(&only(ada.clone(), SeriesBy::App).await),
        [("com.a", vec![2, 0], vec![1, 0]), b, rest]
    );
    let of_app = UsageFilter { package: Some(package_name("com.a")), ..UsageFilter::default() };
    assert_eq!(series_counts(&only(of_app, SeriesBy::Tool).await), [x.clone(), z]);
    let of_tool = UsageFilter { tool: Some("com.a:x".parse().unwrap()), ..ada };
    assert_eq!(series_counts(&only(of_tool, SeriesBy::Tool).await), [x]);
    let of_owner = UsageFilter { owner: Some("ada".to_owned()), ..UsageFilter::default() };
    assert_eq!(series_counts(&only(of_owner, SeriesBy::App).await), [a]);
    let nobody = UsageFilter { owner: Some("eve".to_owned()), ..UsageFilter::default() };
    assert_eq!(only(nobody, SeriesBy::App).await, CallTimeline::default());
}

/// Newest first, up to the limit.
pub async fn the_newest_timings_are_read(store: &impl FullStore) {
    store.create_app(app_record("com.a", "ada", None)).await.unwrap();
    for second in 1..=9 {
        let (user, tool) = if second % 2 == 0 { ("ada", "com.a:x") } else { ("bob", "com.b:y") };
        store.record_call(call_record(second, user, tool, None)).await;
    }
    let read = async |filter: UsageFilter, limit| {
        let timings = store.list_timings(&filter, limit).await.unwrap();
        timings.iter().map(|timing| timing.duration_us / 100).collect::<Vec<_>>()
    };
    let all = UsageFilter::default();
    assert_eq!(read(all.clone(), 100).await, [9, 8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(read(all.clone(), 3).await, [9, 8, 7]);
    assert_eq!(store.list_timings(&all, 1).await.unwrap()[0].steps.invoke, 5);
    let ada = UsageFilter { user: Some("ada".parse().unwrap()), ..all.clone() };
    assert_eq!(read(ada.clone(), 3).await, [8, 6, 4]);
    assert_eq!(read(UsageFilter { since: Some(at_second(6)), ..ada }, 100).await, [8, 6]);
    assert_eq!(
        read(UsageFilter { since: Some(at_second(3)), until: Some(at_second(5)), ..all.clone() }, 100).await,
        [4, 3]
    );
    assert_eq!(read(UsageFilter { package: Some(package_name("com.b")), ..all.clone() }, 2).await, [9, 7]);
    assert_eq!(read(UsageFilter { tool: Some("com.a:x".parse().unwrap()), ..all.clone() }, 2).await, [8, 6]);
    assert_eq!(read(UsageFilter { owner: Some("ada".to_owned()), ..all }, 100).await, [8, 6, 4, 2]);
}
