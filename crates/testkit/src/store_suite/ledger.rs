//! Call records.

use std::sync::Arc;

use toolyard_core::{
    executor::{Caller, Door, TraceContext},
    ports::{CallFilter, CallRecord, CallWait, SourceKind, UsageFilter},
};
use toolyard_protocol::{ErrorCode, api::StepTimes};

use super::{FullStore, app_record, at_second, package_name};

pub(super) fn call_record(id: u8, user: &str, tool: &str, error: Option<ErrorCode>) -> Arc<CallRecord> {
    let mut bytes = [0; 16];
    bytes[0] = id;
    Arc::new(CallRecord {
        id: toolyard_protocol::CallId::from_bytes(bytes),
        user: user.parse().unwrap(),
        tool: tool.into(),
        package: tool.split(':').next().map(package_name),
        source: SourceKind::App,
        door: Door::Rest,
        caller: Caller::App(package_name("com.caller")),
        error,
        error_message: error.map(|code| format!("{code} of {id}").into()),
        replayed: false,
        started_at: at_second(id.into()),
        duration_us: 100 * u64::from(id),
        steps: StepTimes { find: 1, validate: 2, authorize: 3, ready: 4, invoke: 5, check: 6 },
        bytes_in: 10,
        bytes_out: 20,
        approval: None,
        waiting: None,
        trace: TraceContext { trace_id: u128::MAX - 1, parent: Some(5), span_id: 6, sampled: true },
    })
}

/// Every field is returned; filters and pages work.
pub async fn calls_are_recorded_and_found(store: &impl FullStore) {
    store.create_app(app_record("com.a", "ada", None)).await.unwrap();
    for id in 1..=100 {
        let (user, tool) =
            (if id % 2 == 0 { "ada" } else { "bob" }, if id <= 50 { "com.a:x" } else { "com.b:y" });
        store.record_call(call_record(id, user, tool, (id % 10 == 0).then_some(ErrorCode::Timeout))).await;
    }
    let one = store.find_call(&call_record(10, "ada", "com.a:x", None).id).await.unwrap().unwrap();
    assert_eq!(
        format!("{one:?}"),
        format!("{:?}", call_record(10, "ada", "com.a:x", Some(ErrorCode::Timeout)))
    );

    let ids = async |filter: CallFilter| {
        let page = store.list_calls(&CallFilter { limit: 500, ..filter }).await.unwrap();
        page.iter().map(|call| call.duration_us / 100).collect::<Vec<_>>()
    };
    assert_eq!(ids(CallFilter::default()).await, (1..=100).rev().collect::<Vec<u64>>());
    assert_eq!(
        ids(CallFilter { user: Some("ada".parse().unwrap()), ..CallFilter::default() }).await.len(),
        50
    );
    assert_eq!(
        ids(CallFilter { tool: Some("com.b:y".parse().unwrap()), ..CallFilter::default() }).await.len(),
        50
    );
    assert_eq!(
        ids(CallFilter { package: Some(package_name("com.a")), ..CallFilter::default() }).await.len(),
        50
    );
    assert_eq!(ids(CallFilter { owner: Some("ada".to_owned()), ..CallFilter::default() }).await.len(), 50);
    assert_eq!(
        ids(CallFilter { outcome: Some("TIMEOUT".to_owned()), ..CallFilter::default() }).await.len(),
        10
    );
    assert_eq!(ids(CallFilter { outcome: Some("OK".to_owned()), ..CallFilter::default() }).await.len(), 90);
    assert_eq!(ids(CallFilter { since: Some(at_second(99)), ..CallFilter::default() }).await, [100, 99]);
    assert_eq!(ids(CallFilter { until: Some(at_second(3)), ..CallFilter::default() }).await, [2, 1]);
    let before = Some(call_record(3, "x", "com.a:x", None).id.clone());
    assert_eq!(ids(CallFilter { before, ..CallFilter::default() }).await, [2, 1]);
    assert_eq!(store.list_calls(&CallFilter { limit: 7, ..CallFilter::default() }).await.unwrap().len(), 7);
}

/// What a call waited for is returned, and filters find it.
pub async fn waiting_calls_are_found(store: &impl FullStore) {
    let waits = [
        (1, None, "OK"),
        (2, Some(CallWait::Approval), "AWAITING_APPROVAL"),
        (3, Some(CallWait::SignIn), "AWAITING_SIGN_IN"),
    ];
    for (id, waiting, _) in waits {
        let record = Arc::unwrap_or_clone(call_record(id, "ada", "com.a:x", None));
        store.record_call(Arc::new(CallRecord { waiting, ..record })).await;
    }
    for (id, waiting, outcome) in waits {
        let filter = CallFilter { outcome: Some(outcome.to_owned()), limit: 10, ..CallFilter::default() };
        let found = store.list_calls(&filter).await.unwrap();
        let found: Vec<_> = found.iter().map(|call| (call.id.clone(), call.waiting)).collect();
        assert_eq!(found, [(call_record(id, "ada", "com.a:x", None).id.clone(), waiting)], "{outcome}");
    }
}

/// Counts and means.
pub async fn usage_is_counted(store: &impl FullStore) {
    store.create_app(app_record("com.a", "ada", None)).await.unwrap();
    store.record_call(call_record(1, "ada", "com.a:x", None)).await;
    store.record_call(call_record(3, "ada", "com.a:x", Some(ErrorCode::Timeout))).await;
    store.record_call(call_record(5, "bob", "com.b:y", None)).await;
    let rows = async |filter: UsageFilter| {
        let rows = store.tool_usage(&filter).await.unwrap();
        rows.into_iter().map(|row| (row.tool, row.calls, row.errors, row.mean_us)).collect::<Vec<_>>()
    };
    let (x, y) = (("com.a:x".to_owned(), 2, 1, 200), ("com.b:y".to_owned(), 1, 0, 500));
    assert_eq!(rows(UsageFilter::default()).await, [x.clone(), y.clone()]);
    assert_eq!(rows(UsageFilter { user: Some("bob".parse().unwrap()), ..UsageFilter::default() }).await, [y]);
    assert_eq!(rows(UsageFilter { owner: Some("ada".to_owned()), ..UsageFilter::default() }).await, [x]);
    assert!(rows(UsageFilter { since: Some(at_second(9)), ..UsageFilter::default() }).await.is_empty());
    let one = ("com.a:x".to_owned(), 1, 0, 100);
    assert_eq!(rows(UsageFilter { until: Some(at_second(3)), ..UsageFilter::default() }).await, [one]);
    let since = UsageFilter { since: Some(at_second(2)), ..UsageFilter::default() };
    assert_eq!(rows(since.clone()).await.len(), 2);
    assert_eq!(rows(UsageFilter { package: Some(package_name("com.b")), ..since.clone() }).await.len(), 1);
    assert_eq!(rows(UsageFilter { tool: Some("com.a:x".parse().unwrap()), ..since }).await.len(), 1);
}

/// Records some calls that failed, with their messages.
pub async fn queue_failed_calls(store: &impl toolyard_core::ports::Ledger, from: u8, to: u8) {
    for id in from..=to {
        store.record_call(call_record(id, "ada", "com.a:x", Some(ErrorCode::Timeout))).await;
    }
}

/// Records some calls, for tests of one backend's own batching.
pub async fn queue_some_calls(store: &impl toolyard_core::ports::Ledger, round: u64, count: u8) {
    for id in 1..=count {
        let mut record = Arc::unwrap_or_clone(call_record(id, "ada", "com.a:x", None));
        let mut bytes = [id; 16];
        bytes[8..].copy_from_slice(&round.to_be_bytes());
        record.id = toolyard_protocol::CallId::from_bytes(bytes);
        store.record_call(Arc::new(record)).await;
    }
}
