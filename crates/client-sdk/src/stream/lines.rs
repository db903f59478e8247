//! Splits bytes into lines. Both limits apply at the same place, however the bytes arrive.

use bytes::{Buf as _, Bytes, BytesMut};

use super::StreamError;

/// Longest line, in bytes. A tool result is one line.
pub const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// Largest response, in bytes.
pub const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct LineBuffer {
    buffer: BytesMut,
    /// How much of the buffer is known to contain no line end.
    searched: usize,
    received: usize,
    /// Whether more bytes arrived than the limit allows.
    over: bool,
    ended: bool,
    most_line: usize,
    most: usize,
}

impl Default for LineBuffer {
    fn default() -> Self {
        Self::with_limits(MAX_LINE_BYTES, MAX_ANSWER_BYTES)
    }
}

impl LineBuffer {
    fn with_limits(most_line: usize, most: usize) -> Self {
        let buffer = BytesMut::new();
        Self { buffer, searched: 0, received: 0, over: false, ended: false, most_line, most }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let taken = &bytes[..bytes.len().min(self.most - self.received)];
        self.over |= taken.len() < bytes.len();
        self.received += taken.len();
        self.buffer.extend_from_slice(taken);
    }

    pub(super) fn finish(&mut self) {
        self.ended = true;
    }

    /// The next line without its line end. `None` until a line is complete.
    pub(super) fn next(&mut self) -> Option<Result<Bytes, StreamError>> {
        let end = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n');
        let length = end.map_or(self.buffer.len(), |end| self.searched + end);
        if length > self.most_line {
            return Some(Err(StreamError::LongLine { limit: self.most_line }));
        }
        self.searched = length;
        if end.is_some() {
            self.searched = 0;
            let line = self.buffer.split_to(length).freeze();
            self.buffer.advance(1);
            return Some(Ok(line));
        }
        if self.over {
            return Some(Err(StreamError::TooLarge { limit: self.most }));
        }
        if self.ended && !self.buffer.is_empty() {
            self.searched = 0;
            return Some(Ok(self.buffer.split().freeze()));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines in these pieces, and the error that ended reading.
    fn read(pieces: &[&str], most_line: usize, most: usize) -> (Vec<String>, Option<StreamError>) {
        let mut lines = LineBuffer::with_limits(most_line, most);
        let mut read = Vec::new();
        let last = pieces.len();
        for step in 0..=last {
            match pieces.get(step) {
                Some(piece) => lines.push(piece.as_bytes()),
                None => lines.finish(),
            }
            loop {
                match lines.next() {
                    Some(Ok(line)) => read.push(String::from_utf8(line.to_vec()).unwrap()),
                    Some(Err(error)) => return (read, Some(error)),
                    None => break,
                }
            }
        }
        (read, None)
    }

    #[test]
    fn lines_are_the_same_however_the_bytes_are_split() {
        for pieces in [&["a\n\nbc\nd"][..], &["a", "\n\nb", "c\n", "", "d"], &["a\n", "\n", "b", "c", "\nd"]]
        {
            let (lines, error) = read(pieces, 10, 100);
            assert_eq!((lines.join("|"), error), ("a||bc|d".to_owned(), None), "{pieces:?}");
        }
        assert_eq!(read(&[], 10, 100), (vec![], None));
        assert_eq!(read(&["a\n"], 10, 100).0, ["a"]);
    }

    #[test]
    fn a_line_has_a_limit() {
        assert_eq!(read(&["12345\n12", "345\n"], 5, 100).1, None);
        for pieces in [&["a\n123456\n"][..], &["a\n", "123", "456"], &["a\n12345", "6\n"]] {
            let (lines, error) = read(pieces, 5, 100);
            assert_eq!(
                (lines, error),
                (vec!["a".to_owned()], Some(StreamError::LongLine { limit: 5 })),
                "{pieces:?}"
            );
        }
    }

    #[test]
    fn a_response_has_a_limit_and_the_lines_within_it_are_read() {
        assert_eq!(read(&["ab\ncd\n"], 5, 6).1, None);
        for pieces in [&["ab\ncd\ne"][..], &["ab\n", "cd\n", "e"], &["a", "b\ncd", "\ne\nf\n"]] {
            let (lines, error) = read(pieces, 5, 6);
            assert_eq!(
                (lines.join("|"), error),
                ("ab|cd".to_owned(), Some(StreamError::TooLarge { limit: 6 })),
                "{pieces:?}"
            );
        }
    }
}
