//! Lines of bounded length as text, from a file or a terminal.

use std::io;

use tokio::io::AsyncRead;
use toolyard_net::{LineReadError, LineReader};

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BoundedLine {
    /// Without its line ending. Invalid UTF-8 is replaced.
    Text(String),
    /// Longer than the limit; skipped.
    TooLong,
}

/// Reads line by line and never buffers more than the limit.
pub(crate) struct BoundedLines<R>(LineReader<R>);

impl<R: AsyncRead + Unpin> BoundedLines<R> {
    pub(crate) fn new(from: R, limit: usize) -> Self {
        Self(LineReader::new(from, limit))
    }

    /// The next line, or `None` at the end. Cancel-safe: nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> io::Result<Option<BoundedLine>> {
        match self.0.next().await {
            Ok(line) => Ok(line.map(|line| BoundedLine::Text(String::from_utf8_lossy(&line).into_owned()))),
            Err(LineReadError::TooLong(_)) => Ok(Some(BoundedLine::TooLong)),
            Err(LineReadError::Io(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(bytes: &[u8], limit: usize) -> Vec<BoundedLine> {
        let mut lines = BoundedLines::new(bytes, limit);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line);
        }
        all
    }

    #[tokio::test]
    async fn a_line_over_the_limit_is_skipped_and_the_next_one_read() {
        let text = |text: &str| BoundedLine::Text(text.to_owned());
        assert_eq!(
            all(b"12345\n123456\n\nx\r\ny", 5).await,
            [text("12345"), BoundedLine::TooLong, text(""), text("x"), text("y")]
        );
        assert_eq!(all(b"123456", 5).await, [BoundedLine::TooLong]);
        assert_eq!(all(b"\xff\n", 5).await, [text("\u{fffd}")]);
        assert_eq!(all(b"", 5).await, []);
    }
}
