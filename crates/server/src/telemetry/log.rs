//! Log lines, written by a thread of their own: a call never waits for the terminal.

use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::{EnvFilter, layer::SubscriberExt as _, util::SubscriberInitExt as _};

use crate::config::{LogConfig, LogFormat};

/// Lines that wait to be written; more are dropped and counted, because the log must not slow calls down.
const QUEUE: usize = 32_768;

/// Keep it until the end: dropping it writes what is queued.
#[must_use]
pub struct LogGuard {
    _writer: WorkerGuard,
}

/// Starts the log of this process.
pub fn init_log(config: &LogConfig) -> Result<LogGuard, String> {
    let filter = EnvFilter::try_new(&config.filter).map_err(|error| format!("log.filter: {error}"))?;
    let (writer, guard) = NonBlockingBuilder::default().buffered_lines_limit(QUEUE).finish(std::io::stderr());
    let lines = tracing_subscriber::fmt::layer().with_writer(writer);
    let registry = tracing_subscriber::registry().with(filter);
    let started = match config.format {
        LogFormat::Text => registry.with(lines.compact().with_ansi(false)).try_init(),
        LogFormat::Json => registry.with(lines.json()).try_init(),
    };
    started.map_err(|error| error.to_string())?;
    Ok(LogGuard { _writer: guard })
}
