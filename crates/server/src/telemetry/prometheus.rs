//! Metrics in the format of Prometheus.

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Label, Level, Metadata, Recorder as _, Unit};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use toolyard_core::{ToolError, executor::CallOutcome, redaction::RedactionCounts};
use toolyard_protocol::ErrorCode;

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
        let metadata = Metadata::new("toolyard", Level::INFO, None);
        let (replaced, used) = ("toolyard_secrets_replaced_total", "toolyard_placeholders_used_total");
        let texts = [
            (replaced, "Secrets in results that were replaced by placeholders"),
            (used, "Placeholders in arguments: restored, left as they are for another origin, or unknown"),
        ];
        for (name, text) in texts {
            recorder.describe_counter(KeyName::from_const_str(name), None, text.into());
        }
        let outcome = |outcome: &'static str| {
            let key = Key::from_parts(used, vec![Label::new("outcome", outcome)]);
            recorder.register_counter(&key, &metadata)
        };
        Self {
            replaced: recorder.register_counter(&Key::from_name(replaced), &metadata),
            restored: outcome("restored"),
            foreign: outcome("other_origin"),
            unknown: outcome("unknown"),
        }
    }
}

/// Metrics of calls, registered once.
pub struct CallMetrics {
    ok: Counter,
    failed: Vec<Counter>,
    seconds: Histogram,
    in_flight: Gauge,
    users: Gauge,
    secrets: SecretCounters,
    _recorder: PrometheusRecorder,
}

impl CallMetrics {
    /// Registers the metrics.
    pub fn new(recorder: PrometheusRecorder) -> Self {
        let metadata = Metadata::new("toolyard", Level::INFO, None);
        let describe =
            |name: &'static str, unit, text: &'static str| (KeyName::from_const_str(name), unit, text.into());
        let (name, unit, text) = describe("toolyard_calls_total", None, "Finished calls, by outcome");
        recorder.describe_counter(name, unit, text);
        let (name, unit, text) = describe("toolyard_call_seconds", Some(Unit::Seconds), "Duration of calls");
        recorder.describe_histogram(name, unit, text);
        let (name, unit, text) = describe("toolyard_calls_in_flight", None, "Calls in progress");
        recorder.describe_gauge(name, unit, text);
        let (name, unit, text) = describe("toolyard_users_live", None, "Users with a session");
        recorder.describe_gauge(name, unit, text);
        let counter = |outcome: &'static str| {
            let key = Key::from_parts("toolyard_calls_total", vec![Label::new("outcome", outcome)]);
            recorder.register_counter(&key, &metadata)
        };
        Self {
            ok: counter("OK"),
            failed: ErrorCode::ALL.iter().map(|code| counter(code.as_str())).collect(),
            seconds: recorder.register_histogram(&Key::from_name("toolyard_call_seconds"), &metadata),
            in_flight: recorder.register_gauge(&Key::from_name("toolyard_calls_in_flight"), &metadata),
            users: recorder.register_gauge(&Key::from_name("toolyard_users_live"), &metadata),
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
    pub(crate) fn set_gauges(&self, in_flight: usize, users: usize) {
        self.in_flight.set(in_flight as f64);
        self.users.set(users as f64);
    }
}
