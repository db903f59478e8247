//! Metrics in the format of Prometheus.

use metrics::{Counter, Gauge, Histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use toolyard_core::{ToolError, executor::CallOutcome, redaction::RedactionCounts};
use toolyard_protocol::ErrorCode;

use super::metric_table::{
    CALL_SECONDS, CALLS, CALLS_IN_FLIGHT, CALLS_IN_FLIGHT_LIMIT, PLACEHOLDERS_USED, SECRETS_REPLACED,
    USERS_LIVE, describe_metrics,
};

/// Upper bounds of the histogram buckets, in seconds.
const SECONDS: [f64; 12] = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// A recorder and the handle that renders it. Not global, so that several servers in one process stay separate.
pub fn prometheus_recorder() -> (PrometheusRecorder, PrometheusHandle) {
    let builder = PrometheusBuilder::new();
    let builder = match builder.set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS) {
        Ok(builder) => builder,
        Err(_no_buckets) => PrometheusBuilder::new(),
    };
    let recorder = builder.build_recorder();
    describe_metrics(&recorder);
    let handle = recorder.handle();
    (recorder, handle)
}

/// Secrets in results and their placeholders.
struct SecretCounters {
    replaced: Counter,
    restored: Counter,
    foreign: Counter,
    unknown: Counter,
}

impl SecretCounters {
    fn new(recorder: &PrometheusRecorder) -> Self {
        let used = |outcome| PLACEHOLDERS_USED.counter_for(recorder, outcome);
        Self {
            replaced: SECRETS_REPLACED.counter(recorder),
            restored: used("restored"),
            foreign: used("other_origin"),
            unknown: used("unknown"),
        }
    }
}

/// Metrics of calls, registered once.
pub struct CallMetrics {
    ok: Counter,
    failed: Vec<Counter>,
    seconds: Histogram,
    in_flight: Gauge,
    in_flight_limit: Gauge,
    users: Gauge,
    secrets: SecretCounters,
    _recorder: PrometheusRecorder,
}

impl CallMetrics {
    /// Registers the metrics.
    pub fn new(recorder: PrometheusRecorder) -> Self {
        Self {
            ok: CALLS.counter_for(&recorder, "OK"),
            failed: ErrorCode::ALL.iter().map(|code| CALLS.counter_for(&recorder, code.as_str())).collect(),
            seconds: CALL_SECONDS.histogram(&recorder),
            in_flight: CALLS_IN_FLIGHT.gauge(&recorder),
            in_flight_limit: CALLS_IN_FLIGHT_LIMIT.gauge(&recorder),
            users: USERS_LIVE.gauge(&recorder),
            secrets: SecretCounters::new(&recorder),
            _recorder: recorder,
        }
    }

    /// Records a finished call.
    pub(crate) fn record_call(&self, outcome: &CallOutcome, seconds: f64) {
        match outcome {
            Ok(_) => self.ok.increment(1),
            Err(ToolError { code, .. }) => {
                let place = ErrorCode::ALL.iter().position(|known| known == code);
                if let Some(counter) = place.and_then(|place| self.failed.get(place)) {
                    counter.increment(1);
                }
            }
        }
        self.seconds.record(seconds);
    }

    /// Sets the counts of secrets in results, which core counts itself.
    pub(crate) fn set_secrets(&self, counts: &RedactionCounts) {
        self.secrets.replaced.absolute(counts.replaced);
        self.secrets.restored.absolute(counts.restored);
        self.secrets.foreign.absolute(counts.foreign);
        self.secrets.unknown.absolute(counts.unknown);
    }

    /// Sets the values that are read when metrics are scraped.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    pub(crate) fn set_gauges(&self, in_flight: usize, limit: usize, users: usize) {
        self.in_flight.set(in_flight as f64);
        self.in_flight_limit.set(limit as f64);
        self.users.set(users as f64);
    }
}
