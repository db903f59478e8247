//! Logs, metrics, traces.

mod log;
mod otlp;
mod process;
mod prometheus;

pub(crate) use self::process::{ProcessMetrics, ProcessSnapshot};
pub use self::{
    log::{LogGuard, init_log},
    otlp::{TraceError, TraceExporter},
    prometheus::{CallMetrics, prometheus_recorder},
};
