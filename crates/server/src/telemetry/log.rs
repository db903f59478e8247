//! Writes log lines on a thread of its own, so that a call never waits for the terminal. Lines are collected in a buffer, which
//! the thread empties every few milliseconds without being woken.

use std::{
    io::{self, Write},
    sync::{
        Arc,
        mpsc::{RecvTimeoutError, SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use parking_lot::Mutex;
use toolyard_protocol::log_text::escape_line;
use tracing_subscriber::{
    EnvFilter, Registry, fmt::MakeWriter, layer::SubscriberExt as _, reload, util::SubscriberInitExt as _,
};

use crate::config::{LogConfig, LogFormat};

/// Largest buffer in bytes. More lines are dropped and counted, because the log must not slow calls down.
const MAX_WAITING: usize = 4 * 1024 * 1024;
/// How long a line may stay in the buffer.
const DELAY: Duration = Duration::from_millis(20);

#[derive(Default)]
struct PendingLines {
    bytes: Vec<u8>,
    dropped: u64,
}

/// The buffer for lines that are not written yet.
#[derive(Clone, Default)]
struct LogBuffer(Arc<Mutex<PendingLines>>);

impl LogBuffer {
    fn take_pending(&self) -> PendingLines {
        std::mem::take(&mut *self.0.lock())
    }

    /// Writes and clears the buffer. Errors are ignored: there is no place to report them.
    fn write_to(&self, out: &mut impl Write) {
        let PendingLines { bytes, dropped } = self.take_pending();
        let _ = out.write_all(&bytes);
        if dropped > 0 {
            let _ = writeln!(out, "{dropped} log lines were dropped: the log output is too slow");
        }
        let _ = out.flush();
    }
}

impl Write for LogBuffer {
    /// The formatter writes each line with one call. It may contain untrusted values, so it is escaped here, for every
    /// format, and no value can forge a line.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let safe = escape_line(&text);
        let mut waiting = self.0.lock();
        if waiting.bytes.len() + safe.len() > MAX_WAITING {
            waiting.dropped += 1;
        } else {
            waiting.bytes.extend_from_slice(safe.as_bytes());
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogBuffer {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Changes which lines are logged.
#[derive(Debug, Clone)]
pub struct LogFilter(reload::Handle<EnvFilter, Registry>);

impl LogFilter {
    /// Checks the filter of this configuration.
    pub(crate) fn parse(config: &LogConfig) -> Result<EnvFilter, String> {
        log_filter(config)
    }

    /// Applies another filter to all lines from now on.
    pub(crate) fn replace(&self, filter: EnvFilter) {
        // Fails only if the logger is gone.
        let _ = self.0.reload(filter);
    }
}

/// Keep it until the process ends: dropping it writes the buffered lines.
#[must_use]
pub struct LogGuard {
    filter: LogFilter,
    stop: Option<SyncSender<()>>,
    writer: Option<JoinHandle<()>>,
}

impl LogGuard {
    /// Changes which lines are logged.
    pub fn filter(&self) -> LogFilter {
        self.filter.clone()
    }
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// The configured filter, without the client library `genai`: it logs what vendors send, and with it what users wrote.
fn log_filter(config: &LogConfig) -> Result<EnvFilter, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("log.filter: {error}");
    let asked = EnvFilter::try_new(&config.filter).map_err(|error| wrong(&error))?;
    Ok(asked.add_directive("genai=off".parse().map_err(|error| wrong(&error))?))
}

/// Starts the logger of this process.
pub fn init_log(config: &LogConfig) -> Result<LogGuard, String> {
    let (filter, handle) = reload::Layer::new(log_filter(config)?);
    let lines = LogBuffer::default();
    // No colors in any format: logs are stored in files and read by programs.
    let layer = tracing_subscriber::fmt::layer().with_writer(lines.clone()).with_ansi(false);
    let registry = tracing_subscriber::registry().with(filter);
    let started = match config.format {
        LogFormat::Text => registry.with(layer.compact()).try_init(),
        LogFormat::Json => registry.with(layer.json()).try_init(),
    };
    started.map_err(|error| error.to_string())?;
    let (stop, stopped) = sync_channel(1);
    let writer = std::thread::Builder::new().name("log".to_owned()).spawn(move || {
        let mut out = io::stderr();
        while stopped.recv_timeout(DELAY) == Err(RecvTimeoutError::Timeout) {
            lines.write_to(&mut out);
        }
        lines.write_to(&mut out);
    });
    let writer = writer.map_err(|error| format!("the log thread cannot be started: {error}"))?;
    Ok(LogGuard { filter: LogFilter(handle), stop: Some(stop), writer: Some(writer) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn genai_is_never_logged() {
        for asked in ["info", "trace", "genai=trace"] {
            let filter = log_filter(&LogConfig { filter: asked.to_owned(), ..LogConfig::default() })
                .unwrap()
                .to_string();
            assert!(filter.contains("genai=off") && !filter.contains("genai=trace"), "{filter}");
        }
        assert!(log_filter(&LogConfig { filter: "a=b=c".to_owned(), ..LogConfig::default() }).is_err());
    }

    #[test]
    fn the_filter_can_be_replaced() {
        let parse = |filter: &str| {
            LogFilter::parse(&LogConfig { filter: filter.to_owned(), ..LogConfig::default() }).unwrap()
        };
        let (layer, handle) = reload::Layer::new(parse("warn"));
        let (filter, lines) = (LogFilter(handle), LogBuffer::default());
        let writer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(lines.clone());
        let logger = tracing_subscriber::registry().with(layer).with(writer);
        tracing::subscriber::with_default(logger, || {
            for number in 0..2 {
                tracing::debug!(number, "a line");
                filter.replace(parse("debug"));
            }
        });
        let mut out = Vec::new();
        lines.write_to(&mut out);
        let out = String::from_utf8(out).unwrap();
        assert!(out.lines().count() == 1 && out.contains("number=1"), "{out}");
    }

    #[test]
    fn no_value_forges_a_line_in_any_format() {
        let evil = "x\n2026-01-01T00:00:00Z  INFO toolyard: forged\r\u{1b}[2K\u{85}\u{2028}";
        let lines = LogBuffer::default();
        let log = || {
            tracing::info_span!("request", user = evil).in_scope(|| {
                tracing::info!(shown = %evil, debugged = ?evil, plain = evil, "said {evil}");
            });
        };
        let text = tracing_subscriber::fmt::layer().compact().with_ansi(false).with_writer(lines.clone());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(text), log);
        let json = tracing_subscriber::fmt::layer().json().with_writer(lines.clone());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(json), log);
        let mut out = Vec::new();
        lines.write_to(&mut out);
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out.lines().count(), 2, "{out}");
        assert!(
            out.ends_with('\n') && out.trim_end_matches('\n').chars().filter(|c| c.is_control()).count() == 1,
            "{out}"
        );
        assert!(!out.contains('\u{2028}'), "{out}");
        let line: serde_json::Value = serde_json::from_str(out.lines().nth(1).unwrap()).unwrap();
        assert_eq!(line["fields"]["plain"], evil, "nothing is lost");
    }

    #[test]
    fn lines_are_written_in_order_and_dropped_ones_are_counted() {
        let mut lines = LogBuffer::default();
        for line in ["a\n", "b\n"] {
            lines.write_all(line.as_bytes()).unwrap();
        }
        let big = vec![b'x'; MAX_WAITING];
        lines.write_all(&big).unwrap();
        let mut out = Vec::new();
        lines.write_to(&mut out);
        let out = String::from_utf8(out).unwrap();
        assert!(out.starts_with("a\nb\n1 log lines were dropped"), "{out}");
        let mut out = Vec::new();
        lines.write_to(&mut out);
        assert!(out.is_empty());
    }
}
