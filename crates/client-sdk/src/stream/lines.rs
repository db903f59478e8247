//! The lines of a stream, and the JSON in a line. Both limits apply at the same place, however the bytes arrive.

use bytes::Bytes;
use toolyard_net::{LineEnding, LineSplitter};

use super::StreamError;

/// Longest line, in bytes. A tool result is one line.
pub const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// Largest response, in bytes.
pub const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// UTF-8 byte order mark.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The JSON of a line. `None` if the line is not data or not a chunk, such as `[DONE]`.
pub(super) fn chunk_json(line: Bytes) -> Option<Bytes> {
    let text = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
    let data = text.strip_prefix(b"data:")?.trim_ascii();
    data.starts_with(b"{").then(|| line.slice_ref(data))
}

#[derive(Debug)]
pub(super) struct LineBuffer {
    lines: LineSplitter,
    received: usize,
    /// Whether more bytes arrived than the limit allows.
    over: bool,
    ended: bool,
    most: usize,
}

impl Default for LineBuffer {
    fn default() -> Self {
        Self::with_limits(MAX_LINE_BYTES, MAX_ANSWER_BYTES)
    }
}

impl LineBuffer {
    fn with_limits(most_line: usize, most: usize) -> Self {
        let lines = LineSplitter::new(LineEnding::Any, most_line);
        Self { lines, received: 0, over: false, ended: false, most }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let taken = &bytes[..bytes.len().min(self.most - self.received)];
        self.over |= taken.len() < bytes.len();
        self.received += taken.len();
        self.lines.push(Bytes::copy_from_slice(taken));
    }

    pub(super) fn finish(&mut self) {
        self.ended = true;
    }

    /// The next line without its line ending. `None` until a line is complete.
    pub(super) fn next(&mut self) -> Option<Result<Bytes, StreamError>> {
        match self.lines.next_line() {
            Ok(Some(line)) => Some(Ok(line)),
            Err(long) => Some(Err(StreamError::LongLine { limit: long.limit })),
            Ok(None) if self.over => Some(Err(StreamError::TooLarge { limit: self.most })),
            Ok(None) if self.ended => self.lines.take_rest().map(Ok),
            Ok(None) => None,
        }
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
        for pieces in [
            &["a\n\nbc\nd"][..],
            &["a", "\n\nb", "c\n", "", "d"],
            &["a\n", "\n", "b", "c", "\nd"],
            &["a\r", "\n\rbc\r", "d"],
        ] {
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
