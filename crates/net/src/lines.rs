//! Splits bytes into lines of bounded length, however they arrive. The one line reader of the workspace: bodies, event
//! streams, pipes and terminals are all read with it.
//!
//! Every byte is searched once and copied at most once, so even a peer that sends single bytes costs linear time.

use std::collections::VecDeque;

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Most bytes per read.
const READ_BYTES: usize = 64 * 1024;

/// What ends a line. A carriage return right before a line feed always belongs to the line ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnding {
    /// A line feed: newline-delimited JSON, pipes, terminals.
    LineFeed,
    /// Also a carriage return alone: server-sent events.
    Any,
}

impl LineEnding {
    fn find(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::LineFeed => bytes.iter().position(|byte| *byte == b'\n'),
            Self::Any => bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')),
        }
    }
}

/// A line exceeds the limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a line is longer than {limit} bytes")]
pub struct LongLine {
    pub limit: usize,
    /// The beginning of the line, up to the limit.
    pub start: Bytes,
}

/// Bytes in, split anywhere; lines out.
#[derive(Debug)]
pub struct LineSplitter {
    ending: LineEnding,
    limit: usize,
    /// Received and not yet searched. No piece is empty.
    received: VecDeque<Bytes>,
    /// The start of a line whose end has not been received.
    begun: BytesMut,
    /// Inside a line that was reported as too long.
    skipping: bool,
    /// A line ended with a carriage return: a line feed right after it belongs to it.
    after_return: bool,
}

impl LineSplitter {
    /// The limit is the most bytes of a line. A carriage return counts unless it ends the line by itself.
    pub fn new(ending: LineEnding, limit: usize) -> Self {
        Self {
            ending,
            limit,
            received: VecDeque::new(),
            begun: BytesMut::new(),
            skipping: false,
            after_return: false,
        }
    }

    /// Changes the limit from the next line on.
    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Adds bytes.
    pub fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.received.push_back(piece);
        }
    }

    /// The next line without its line ending, `None` until more bytes arrive. A line that is too long is reported once,
    /// as soon as it exceeds the limit. The call after that continues with the next line.
    pub fn next_line(&mut self) -> Result<Option<Bytes>, LongLine> {
        while let Some(chunk) = self.received.front_mut() {
            if std::mem::take(&mut self.after_return) && chunk.starts_with(b"\n") {
                chunk.advance(1);
            }
            let end = self.ending.find(chunk);
            let piece = match end {
                Some(end) => {
                    let mut line = chunk.split_to(end + 1);
                    self.after_return = line.ends_with(b"\r");
                    line.truncate(end);
                    line
                }
                None => std::mem::take(chunk),
            };
            if chunk.is_empty() {
                self.received.pop_front();
            }
            if let Some(line) = self.extend_line(piece, end.is_some())? {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    /// Adds a piece to the started line. Returns the line if this is its last piece.
    fn extend_line(&mut self, piece: Bytes, is_last: bool) -> Result<Option<Bytes>, LongLine> {
        if self.skipping {
            self.skipping = !is_last;
            return Ok(None);
        }
        let room = self.limit.saturating_sub(self.begun.len());
        if piece.len() > room {
            self.skipping = !is_last;
            self.begun.extend_from_slice(&piece[..room]);
            return Err(LongLine { limit: self.limit, start: self.take_begun() });
        }
        if is_last && self.begun.is_empty() {
            // Most lines arrive in one piece, which is passed on without a copy.
            return Ok(Some(without_return(piece)));
        }
        self.begun.extend_from_slice(&piece);
        Ok(is_last.then(|| without_return(self.take_begun())))
    }

    /// The last line, if it lacks a line ending. To be called at the end of the bytes, after the last line was taken.
    pub fn take_rest(&mut self) -> Option<Bytes> {
        Some(without_return(self.take_begun())).filter(|rest| !rest.is_empty())
    }

    fn take_begun(&mut self) -> Bytes {
        std::mem::take(&mut self.begun).freeze()
    }
}

fn without_return(mut line: Bytes) -> Bytes {
    if line.ends_with(b"\r") {
        line.truncate(line.len() - 1);
    }
    line
}

/// Why a line could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LineReadError {
    /// The next call continues with the next line.
    #[error(transparent)]
    TooLong(#[from] LongLine),
    #[error("reading failed: {0}")]
    Io(#[from] std::io::Error),
}

/// Reads a pipe, a file or a terminal line by line. Lines end with a line feed.
#[derive(Debug)]
pub struct LineReader<R> {
    from: R,
    buffer: BytesMut,
    lines: LineSplitter,
    read_bytes: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub fn new(from: R, limit: usize) -> Self {
        let lines = LineSplitter::new(LineEnding::LineFeed, limit);
        Self { from, buffer: BytesMut::new(), lines, read_bytes: READ_BYTES.min(limit.saturating_add(1)) }
    }

    /// The next line without its line ending, `None` after the last. The last line may lack a line ending.
    ///
    /// Cancel safe: the next call continues where a dropped one stopped.
    pub async fn next(&mut self) -> Result<Option<Bytes>, LineReadError> {
        loop {
            if let Some(line) = self.lines.next_line()? {
                return Ok(Some(line));
            }
            self.buffer.reserve(self.read_bytes);
            if self.from.read_buf(&mut self.buffer).await? == 0 {
                return Ok(self.lines.take_rest());
            }
            self.lines.push(self.buffer.split().freeze());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    /// The lines in these pieces; `!` and the start of a line that is too long.
    fn split<'a>(
        ending: LineEnding,
        limit: usize,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Vec<String> {
        let mut lines = LineSplitter::new(ending, limit);
        let mut found = Vec::new();
        for piece in pieces {
            lines.push(Bytes::copy_from_slice(piece));
            drain(&mut lines, &mut found);
        }
        found.extend(lines.take_rest().map(|rest| text(&rest)));
        found
    }

    fn drain(lines: &mut LineSplitter, found: &mut Vec<String>) {
        loop {
            match lines.next_line() {
                Ok(Some(line)) => found.push(text(&line)),
                Ok(None) => return,
                Err(long) => found.push(format!("!{}", text(&long.start))),
            }
        }
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[test]
    fn lines_are_the_same_at_every_split_and_with_every_line_ending() {
        use LineEnding::{Any, LineFeed};
        for (ending, sample, expected) in [
            (LineFeed, "a\n\nbc\nd", &["a", "", "bc", "d"][..]),
            (LineFeed, "a\r\n\r\nb\rc\r\nd\r", &["a", "", "b\rc", "d"]),
            (LineFeed, "\n", &[""]),
            (LineFeed, "", &[]),
            (Any, "a\n\nbc\nd", &["a", "", "bc", "d"]),
            (Any, "a\r\n\r\nb\r\n", &["a", "", "b"]),
            (Any, "a\r\rbc\rd", &["a", "", "bc", "d"]),
            (Any, "a\n\r\r\n\nb\r\n\r", &["a", "", "", "", "b", ""]),
        ] {
            let bytes = sample.as_bytes();
            for first in 0..=bytes.len() {
                for second in first..=bytes.len() {
                    let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                    assert_eq!(split(ending, 4, pieces), expected, "{sample:?} split at {first}, {second}");
                }
            }
            assert_eq!(split(ending, 4, bytes.chunks(1)), expected, "{sample:?} byte by byte");
        }
    }

    #[test]
    fn pieces_may_wait_until_lines_are_asked_for() {
        let mut lines = LineSplitter::new(LineEnding::Any, 10);
        for piece in ["a", "b\r", "", "\nc", "\n", "d"] {
            lines.push(Bytes::from(piece));
        }
        let mut found = Vec::new();
        drain(&mut lines, &mut found);
        assert_eq!(
            (found, lines.take_rest()),
            (vec!["ab".to_owned(), "c".to_owned()], Some(Bytes::from("d")))
        );
    }

    #[test]
    fn a_long_line_is_reported_once_and_the_next_line_is_read() {
        for (sample, expected) in [
            ("12345\n123456\nx\n", &["12345", "!12345", "x"][..]),
            ("123456789012345\n\ny", &["!12345", "", "y"]),
            ("a\n123456", &["a", "!12345"]),
            // Until the line feed arrives, a carriage return counts.
            ("12345\r\nz", &["!12345", "z"]),
        ] {
            let bytes = sample.as_bytes();
            for cut in 0..=bytes.len() {
                let (left, right) = bytes.split_at(cut);
                assert_eq!(split(LineEnding::LineFeed, 5, [left, right]), expected, "{sample:?} at {cut}");
            }
            assert_eq!(split(LineEnding::LineFeed, 5, bytes.chunks(1)), expected, "{sample:?}");
        }
    }

    #[test]
    fn a_long_line_is_reported_before_its_end_arrives() {
        let mut lines = LineSplitter::new(LineEnding::LineFeed, 3);
        lines.push(Bytes::from_static(b"1234"));
        let long = lines.next_line().unwrap_err();
        assert_eq!(
            (long.to_string(), &long.start[..]),
            ("a line is longer than 3 bytes".to_owned(), &b"123"[..])
        );
        lines.push(Bytes::from(vec![b'x'; MIB]));
        assert_eq!((lines.next_line(), lines.begun.len(), lines.received.len()), (Ok(None), 0, 0));
        assert_eq!(lines.take_rest(), None);
    }

    /// A reader that searches its buffer from the start would compare 5 * 10^11 bytes here.
    #[test]
    fn a_large_line_of_single_bytes_takes_linear_time() {
        let line = Bytes::from(vec![b'x'; MIB]);
        let mut lines = LineSplitter::new(LineEnding::Any, MIB);
        for at in 0..MIB {
            lines.push(line.slice(at..=at));
            assert_eq!(lines.next_line(), Ok(None));
        }
        lines.push(Bytes::from_static(b"\n"));
        assert_eq!(lines.next_line(), Ok(Some(line)));
    }

    #[test]
    fn many_lines_in_one_piece_take_linear_time() {
        let mut lines = LineSplitter::new(LineEnding::LineFeed, 1);
        lines.push(Bytes::from(vec![b'\n'; MIB]));
        let mut count = 0;
        while lines.next_line().unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, MIB);
    }

    #[tokio::test]
    async fn a_pipe_is_read_to_its_end_past_a_long_line() {
        let input = format!("one\r\n\n{}\ntwo", "x".repeat(3 * READ_BYTES));
        let mut lines = LineReader::new(input.as_bytes(), 10);
        assert_eq!(lines.next().await.unwrap().unwrap(), "one");
        assert_eq!(lines.next().await.unwrap().unwrap(), "");
        let long = lines.next().await;
        assert!(matches!(&long, Err(LineReadError::TooLong(long)) if long.start == "xxxxxxxxxx"), "{long:?}");
        assert_eq!(lines.next().await.unwrap().unwrap(), "two");
        assert_eq!(lines.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_dropped_read_loses_nothing() {
        use tokio::io::AsyncWriteExt as _;
        let (mut pipe, from) = tokio::io::duplex(64);
        let mut lines = LineReader::new(from, 100);
        pipe.write_all(b"half").await.unwrap();
        tokio::select! {
            biased;
            line = lines.next() => panic!("{line:?}"),
            () = tokio::task::yield_now() => {}
        }
        pipe.write_all(b"-way\n").await.unwrap();
        assert_eq!(lines.next().await.unwrap().unwrap(), "half-way");
    }
}
