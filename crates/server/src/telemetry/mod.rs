//! Logs, metrics, traces.

mod log;
mod metric_table;
mod otlp;
mod process;
mod prometheus;

pub use self::{
    log::{LogFilter, LogGuard, init_log},
    metric_table::{METRICS, MetricKind, MetricSpec, MetricUnit},
    otlp::{TraceError, TraceExporter},
    prometheus::{CallMetrics, prometheus_recorder},
};
pub(crate) use self::{
    metric_table::{SPEECH, TRANSCRIPTS},
    process::{ProcessMetrics, ProcessSnapshot},
};
