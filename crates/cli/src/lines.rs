//! Lines of bounded length, from a file or a terminal.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BoundedLine {
    /// Without its line ending. Invalid UTF-8 is replaced.
    Text(String),
    /// Longer than the limit; skipped.
    TooLong,
}

/// Reads line by line and never buffers more than the limit.
pub(crate) struct BoundedLines<R> {
    from: R,
    limit: usize,
    begun: Vec<u8>,
    too_long: bool,
}

impl<R: AsyncBufRead + Unpin> BoundedLines<R> {
    pub(crate) fn new(from: R, limit: usize) -> Self {
        Self { from, limit, begun: Vec::new(), too_long: false }
    }

    /// The next line, or `None` at the end. Cancel-safe: nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> io::Result<Option<BoundedLine>> {
        loop {
            let available = self.from.fill_buf().await?;
            if available.is_empty() {
                let ended = self.begun.is_empty() && !self.too_long;
                return Ok(if ended { None } else { Some(self.finish_line()) });
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let piece = &available[..end.unwrap_or(available.len())];
            self.too_long |= self.begun.len() + piece.len() > self.limit;
            if self.too_long {
                self.begun.clear();
            } else {
                self.begun.extend_from_slice(piece);
            }
            let used = piece.len() + usize::from(end.is_some());
            self.from.consume(used);
            if end.is_some() {
                return Ok(Some(self.finish_line()));
            }
        }
    }

    fn finish_line(&mut self) -> BoundedLine {
        let bytes = std::mem::take(&mut self.begun);
        if std::mem::take(&mut self.too_long) {
            return BoundedLine::TooLong;
        }
        let text = String::from_utf8_lossy(&bytes);
        BoundedLine::Text(text.strip_suffix('\r').unwrap_or(&text).to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(text: &str, limit: usize, buffer: usize) -> Vec<BoundedLine> {
        let mut lines =
            BoundedLines::new(tokio::io::BufReader::with_capacity(buffer, text.as_bytes()), limit);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line);
        }
        all
    }

    #[tokio::test]
    async fn a_line_over_the_limit_is_skipped_and_the_next_one_read() {
        let text = |text: &str| BoundedLine::Text(text.to_owned());
        for buffer in [1, 3, 100] {
            assert_eq!(
                all("12345\n123456\n\nx\r\ny", 5, buffer).await,
                [text("12345"), BoundedLine::TooLong, text(""), text("x"), text("y")]
            );
            assert_eq!(all("123456", 5, buffer).await, [BoundedLine::TooLong]);
            assert_eq!(all("", 5, buffer).await, []);
        }
    }
}
