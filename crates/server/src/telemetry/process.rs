//! Metrics of the process itself, and of what it depends on.

use metrics::{Counter, Gauge};
use metrics_exporter_prometheus::PrometheusRecorder;
use toolyard_protocol::upstream::UpstreamState;

use super::metric_table::{
    AUDIT_FAILURES, CONNECTIONS, CONNECTIONS_LIMIT, RECORDS_LOST, RECORDS_UNWRITTEN, STORE_READY, UPSTREAMS,
    WORKER_STALLS, WORKERS_STUCK,
};

/// Metrics of workers, connections, upstreams, the store, the ledger's backlog and the audit log, registered once.
pub(crate) struct ProcessMetrics {
    stuck: Gauge,
    stalls: Counter,
    connections: Gauge,
    connections_limit: Gauge,
    upstreams: [(UpstreamState, Gauge); 5],
    store_ready: Gauge,
    unwritten: Gauge,
    lost: Counter,
    audit_failures: Counter,
}

/// Values that are read when metrics are scraped.
pub(crate) struct ProcessSnapshot {
    pub(crate) stuck: usize,
    pub(crate) stalls: u64,
    pub(crate) connections: usize,
    pub(crate) connections_limit: usize,
    pub(crate) upstreams: Vec<UpstreamState>,
    pub(crate) store_ready: bool,
    pub(crate) unwritten: usize,
    pub(crate) lost: u64,
    pub(crate) audit_failures: u64,
}

impl ProcessMetrics {
    /// Registers the metrics.
    pub(crate) fn new(recorder: &PrometheusRecorder) -> Self {
        let upstreams = |state, label| (state, UPSTREAMS.gauge_for(recorder, label));
        Self {
            stuck: WORKERS_STUCK.gauge(recorder),
            stalls: WORKER_STALLS.counter(recorder),
            connections: CONNECTIONS.gauge(recorder),
            connections_limit: CONNECTIONS_LIMIT.gauge(recorder),
            upstreams: [
                upstreams(UpstreamState::Unknown, "unknown"),
                upstreams(UpstreamState::Up, "up"),
                upstreams(UpstreamState::Down, "down"),
                upstreams(UpstreamState::NeedsAuthorization, "needs_authorization"),
                upstreams(UpstreamState::Disabled, "disabled"),
            ],
            store_ready: STORE_READY.gauge(recorder),
            unwritten: RECORDS_UNWRITTEN.gauge(recorder),
            lost: RECORDS_LOST.counter(recorder),
            audit_failures: AUDIT_FAILURES.counter(recorder),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    pub(crate) fn update(&self, numbers: &ProcessSnapshot) {
        self.stuck.set(numbers.stuck as f64);
        self.stalls.absolute(numbers.stalls);
        self.connections.set(numbers.connections as f64);
        self.connections_limit.set(numbers.connections_limit as f64);
        for (state, gauge) in &self.upstreams {
            gauge.set(numbers.upstreams.iter().filter(|known| *known == state).count() as f64);
        }
        self.store_ready.set(if numbers.store_ready { 1.0 } else { 0.0 });
        self.unwritten.set(numbers.unwritten as f64);
        self.lost.absolute(numbers.lost);
        self.audit_failures.absolute(numbers.audit_failures);
    }
}
