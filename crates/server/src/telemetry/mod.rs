//! Logs, metrics, traces.

mod log;
mod otlp;
mod process;
mod prometheus;

pub(crate) use self::process::{ProcessMetrics, ProcessNumbers};
pub use self::{
    log::{LogGuard, init_log},
    otlp::{TraceError, Traces},
    prometheus::{CallMetrics, recorder},
};
