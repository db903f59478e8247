//! Reads lines with a length limit.

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes per read.
const CHUNK: usize = 64 * 1024;

/// What to do with a line that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LongLinePolicy {
    /// Stop reading: the lost part may matter.
    Fail,
    /// Skip the rest of the line.
    Truncate,
}

/// Why there are no more lines.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineError {
    #[error("a line is longer than {0} bytes")]
    TooLong(usize),
    #[error("reading failed: {0}")]
    Io(#[from] std::io::Error),
}

/// Reads line by line.
pub(super) struct LineReader<R> {
    from: R,
    buffer: BytesMut,
    /// There is no line end before this position.
    looked_at: usize,
    limit: usize,
    too_long: LongLinePolicy,
    /// Inside a line whose start was already returned.
    skipping: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(from: R, limit: usize, too_long: LongLinePolicy) -> Self {
        Self { from, buffer: BytesMut::new(), looked_at: 0, limit, too_long, skipping: false }
    }

    /// The next line without its line end; `None` after the last. Empty lines are skipped. Cancel safe.
    pub(super) async fn next(&mut self) -> Result<Option<BytesMut>, LineError> {
        loop {
            if let Some(line) = self.take_line()? {
                if !line.is_empty() {
                    return Ok(Some(line));
                }
                continue;
            }
            self.buffer.reserve(CHUNK.min(self.limit + 1));
            if self.from.read_buf(&mut self.buffer).await? == 0 {
                let last = std::mem::take(&mut self.buffer);
                self.looked_at = 0;
                return Ok(Some(last).filter(|line| !line.is_empty() && !self.skipping));
            }
        }
    }

    fn take_line(&mut self) -> Result<Option<BytesMut>, LineError> {
        let end = self.buffer[self.looked_at..].iter().position(|byte| *byte == b'\n');
        let Some(end) = end.map(|end| self.looked_at + end) else {
            self.looked_at = self.buffer.len();
            if self.buffer.len() <= self.limit {
                return Ok(None);
            }
            return self.take_overlong_line();
        };
        self.looked_at = 0;
        let mut line = self.buffer.split_to(end + 1);
        line.truncate(end);
        if line.ends_with(b"\r") {
            line.truncate(end - 1);
        }
        if std::mem::take(&mut self.skipping) {
            line.clear();
        } else if line.len() > self.limit {
            match self.too_long {
                LongLinePolicy::Fail => return Err(LineError::TooLong(self.limit)),
                LongLinePolicy::Truncate => line.truncate(self.limit),
            }
        }
        Ok(Some(line))
    }

    /// The buffer is full and contains no line end.
    fn take_overlong_line(&mut self) -> Result<Option<BytesMut>, LineError> {
        if self.too_long == LongLinePolicy::Fail {
            return Err(LineError::TooLong(self.limit));
        }
        let mut line = std::mem::take(&mut self.buffer);
        self.looked_at = 0;
        if std::mem::replace(&mut self.skipping, true) {
            line.clear();
        }
        line.truncate(self.limit);
        Ok(Some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(text: &str, limit: usize, too_long: LongLinePolicy) -> Result<Vec<String>, LineError> {
        let mut reader = LineReader::new(text.as_bytes(), limit, too_long);
        let mut found = Vec::new();
        while let Some(line) = reader.next().await? {
            found.push(String::from_utf8(line.to_vec()).unwrap());
        }
        Ok(found)
    }

    #[tokio::test]
    async fn lines_are_found_with_either_line_end() {
        let found = all("one\r\n\n\r\ntwo\nthree", 10, LongLinePolicy::Fail).await.unwrap();
        assert_eq!(found, ["one", "two", "three"]);
        assert!(all("", 10, LongLinePolicy::Fail).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_fails_or_is_cut() {
        for text in ["12345\n123456\nx\n", "12345\n123456"] {
            assert!(matches!(all(text, 5, LongLinePolicy::Fail).await, Err(LineError::TooLong(5))), "{text}");
        }
        let long = format!("12345\n{}\nx\n", "1234567".repeat(100_000));
        assert_eq!(all(&long, 5, LongLinePolicy::Truncate).await.unwrap(), ["12345", "12345", "x"]);
        assert_eq!(all("123456789", 5, LongLinePolicy::Truncate).await.unwrap(), ["12345"]);
    }
}
