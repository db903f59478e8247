//! Every metric of the server, in one table. Metrics are registered from it, and the dashboard and the alert rules under
//! `deploy/monitoring` are checked against it.

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Label, Level, Metadata, Recorder as _, Unit};
use metrics_exporter_prometheus::PrometheusRecorder;

/// What a metric measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A distribution: `_bucket`, `_sum` and `_count`.
    Histogram,
}

/// What the values count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricUnit {
    /// Things.
    Count,
    /// Seconds.
    Seconds,
    /// 1 for yes, 0 for no.
    Flag,
}

/// One metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricSpec {
    /// Its name, as scraped.
    pub name: &'static str,
    /// What it measures.
    pub kind: MetricKind,
    /// What its values count.
    pub unit: MetricUnit,
    /// Its labels. None names a user, an app or a tool: metrics are for monitoring systems, which keep them for long.
    pub labels: &'static [&'static str],
    /// One sentence for people.
    pub help: &'static str,
}

const fn counter(name: &'static str, labels: &'static [&'static str], help: &'static str) -> MetricSpec {
    MetricSpec { name, kind: MetricKind::Counter, unit: MetricUnit::Count, labels, help }
}

const fn gauge(name: &'static str, labels: &'static [&'static str], help: &'static str) -> MetricSpec {
    MetricSpec { name, kind: MetricKind::Gauge, unit: MetricUnit::Count, labels, help }
}

pub(crate) const CALLS: MetricSpec =
    counter("toolyard_calls_total", &["outcome"], "Finished calls, by outcome");
pub(crate) const CALL_SECONDS: MetricSpec = MetricSpec {
    name: "toolyard_call_seconds",
    kind: MetricKind::Histogram,
    unit: MetricUnit::Seconds,
    labels: &[],
    help: "Duration of calls",
};
pub(crate) const CALLS_IN_FLIGHT: MetricSpec = gauge("toolyard_calls_in_flight", &[], "Calls in progress");
pub(crate) const CALLS_IN_FLIGHT_LIMIT: MetricSpec =
    gauge("toolyard_calls_in_flight_limit", &[], "Calls that may be in progress at once on this node");
pub(crate) const USERS_LIVE: MetricSpec = gauge("toolyard_users_live", &[], "Users with a session");
pub(crate) const CONNECTIONS: MetricSpec =
    gauge("toolyard_connections", &[], "Open client connections, sockets included");
pub(crate) const CONNECTIONS_LIMIT: MetricSpec =
    gauge("toolyard_connections_limit", &[], "Client connections that may be open at once");
pub(crate) const UPSTREAMS: MetricSpec =
    gauge("toolyard_upstreams", &["state"], "Upstream servers, by state of the last request to them");
pub(crate) const STORE_READY: MetricSpec = MetricSpec {
    unit: MetricUnit::Flag,
    ..gauge("toolyard_store_ready", &[], "Whether the store can be read and written")
};
pub(crate) const RECORDS_UNWRITTEN: MetricSpec =
    gauge("toolyard_records_unwritten", &[], "Call records that are not written yet");
pub(crate) const RECORDS_LOST: MetricSpec = counter(
    "toolyard_records_lost_total",
    &[],
    "Call records that were lost because they could not be written",
);
pub(crate) const AUDIT_FAILURES: MetricSpec =
    counter("toolyard_audit_failures_total", &[], "Entries of the audit log that could not be written");
pub(crate) const WORKERS_STUCK: MetricSpec =
    gauge("toolyard_workers_stuck", &[], "Worker threads that make no progress");
pub(crate) const WORKER_STALLS: MetricSpec =
    counter("toolyard_worker_stalls_total", &[], "How often a worker thread got stuck");
pub(crate) const SECRETS_REPLACED: MetricSpec =
    counter("toolyard_secrets_replaced_total", &[], "Secrets in results that were replaced by placeholders");
pub(crate) const PLACEHOLDERS_USED: MetricSpec = counter(
    "toolyard_placeholders_used_total",
    &["outcome"],
    "Placeholders in arguments: restored, left as they are for another origin, or unknown",
);
pub(crate) const SPEECH: MetricSpec =
    counter("toolyard_speech_total", &["outcome"], "Speech requests, by outcome");
pub(crate) const TRANSCRIPTS: MetricSpec = counter(
    "toolyard_transcripts_total",
    &["outcome"],
    "Utterances of devices, by outcome of their transcription",
);

/// Every metric.
pub const METRICS: [MetricSpec; 18] = [
    CALLS,
    CALL_SECONDS,
    CALLS_IN_FLIGHT,
    CALLS_IN_FLIGHT_LIMIT,
    USERS_LIVE,
    CONNECTIONS,
    CONNECTIONS_LIMIT,
    UPSTREAMS,
    STORE_READY,
    RECORDS_UNWRITTEN,
    RECORDS_LOST,
    AUDIT_FAILURES,
    WORKERS_STUCK,
    WORKER_STALLS,
    SECRETS_REPLACED,
    PLACEHOLDERS_USED,
    SPEECH,
    TRANSCRIPTS,
];

static METADATA: Metadata<'static> = Metadata::new("toolyard", Level::INFO, None);

/// Describes every metric on the page.
pub(super) fn describe_metrics(recorder: &PrometheusRecorder) {
    for metric in METRICS {
        let unit = match metric.unit {
            MetricUnit::Seconds => Some(Unit::Seconds),
            MetricUnit::Count | MetricUnit::Flag => None,
        };
        let (name, help) = (KeyName::from_const_str(metric.name), metric.help.into());
        match metric.kind {
            MetricKind::Counter => recorder.describe_counter(name, unit, help),
            MetricKind::Gauge => recorder.describe_gauge(name, unit, help),
            MetricKind::Histogram => recorder.describe_histogram(name, unit, help),
        }
    }
}

impl MetricSpec {
    /// Registers a counter without labels.
    pub(crate) fn counter(&self, recorder: &PrometheusRecorder) -> Counter {
        recorder.register_counter(&Key::from_static_name(self.name), &METADATA)
    }

    /// Registers a counter with the value of its one label.
    pub(crate) fn counter_for(&self, recorder: &PrometheusRecorder, value: &'static str) -> Counter {
        recorder.register_counter(&self.labelled_key(value), &METADATA)
    }

    /// Registers a gauge without labels.
    pub(crate) fn gauge(&self, recorder: &PrometheusRecorder) -> Gauge {
        recorder.register_gauge(&Key::from_static_name(self.name), &METADATA)
    }

    /// Registers a gauge with the value of its one label.
    pub(crate) fn gauge_for(&self, recorder: &PrometheusRecorder, value: &'static str) -> Gauge {
        recorder.register_gauge(&self.labelled_key(value), &METADATA)
    }

    /// Registers a histogram.
    pub(crate) fn histogram(&self, recorder: &PrometheusRecorder) -> Histogram {
        recorder.register_histogram(&Key::from_static_name(self.name), &METADATA)
    }

    fn labelled_key(&self, value: &'static str) -> Key {
        Key::from_parts(
            self.name,
            self.labels.iter().map(|name| Label::new(*name, value)).collect::<Vec<_>>(),
        )
    }
}
