//! Log output to standard error, with exactly one line for each event.

use std::io::{self, Write};

use toolyard_protocol::log_text::escape_line;

/// Writes log lines with control and invisible characters escaped, so that no logged value can forge a line. Use with
/// `tracing_subscriber::fmt().with_writer(LogLines::stderr)`.
#[derive(Debug)]
pub struct LogLines(io::Stderr);

impl LogLines {
    /// Writes to standard error.
    pub fn stderr() -> Self {
        Self(io::stderr())
    }
}

impl Write for LogLines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write_all(escape_line(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
