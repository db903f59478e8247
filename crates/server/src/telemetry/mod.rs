//! Logs, metrics, traces.

mod log;
mod otlp;
mod prometheus;

pub use self::{
    log::{LogGuard, init_log},
    otlp::{TraceError, Traces},
    prometheus::{CallMetrics, recorder},
};
