//! Metrics of the process itself.

use metrics::{Counter, Gauge, Key, KeyName, Level, Metadata, Recorder as _};
use metrics_exporter_prometheus::PrometheusRecorder;

const STUCK: &str = "toolyard_workers_stuck";
const STALLS: &str = "toolyard_worker_stalls_total";
const CONNECTIONS: &str = "toolyard_connections";
const UNWRITTEN: &str = "toolyard_records_unwritten";
const LOST: &str = "toolyard_records_lost_total";

/// Metrics of workers, connections and the ledger's backlog, registered once.
pub(crate) struct ProcessMetrics {
    stuck: Gauge,
    stalls: Counter,
    connections: Gauge,
    unwritten: Gauge,
    lost: Counter,
}

/// Values that are read when metrics are scraped.
pub(crate) struct ProcessSnapshot {
    pub(crate) stuck: usize,
    pub(crate) stalls: u64,
    pub(crate) connections: usize,
    pub(crate) unwritten: usize,
    pub(crate) lost: u64,
}

impl ProcessMetrics {
    /// Registers the metrics.
    pub(crate) fn new(recorder: &PrometheusRecorder) -> Self {
        let metadata = Metadata::new("toolyard", Level::INFO, None);
        let gauge = |name: &'static str, text: &'static str| {
            recorder.describe_gauge(KeyName::from_const_str(name), None, text.into());
            recorder.register_gauge(&Key::from_static_name(name), &metadata)
        };
        let counter = |name: &'static str, text: &'static str| {
            recorder.describe_counter(KeyName::from_const_str(name), None, text.into());
            recorder.register_counter(&Key::from_static_name(name), &metadata)
        };
        Self {
            stuck: gauge(STUCK, "Worker threads that make no progress"),
            stalls: counter(STALLS, "How often a worker thread got stuck"),
            connections: gauge(CONNECTIONS, "Open client connections, sockets included"),
            unwritten: gauge(UNWRITTEN, "Call records that are not written yet"),
            lost: counter(LOST, "Call records that were lost because they could not be written"),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    pub(crate) fn update(&self, numbers: &ProcessSnapshot) {
        self.stuck.set(numbers.stuck as f64);
        self.stalls.absolute(numbers.stalls);
        self.connections.set(numbers.connections as f64);
        self.unwritten.set(numbers.unwritten as f64);
        self.lost.absolute(numbers.lost);
    }
}
