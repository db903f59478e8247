//! The lines of a response. Each `data:` line is read on its own: chunks are one line of JSON, and some servers omit
//! the empty line between them. A plain JSON body counts as one line.

use bytes::{Buf as _, Bytes, BytesMut};
use toolyard_net::{LineEnding, LineSplitter};

/// Longest line, in bytes. A whole call may be in one line.
pub(super) const MAX_LINE: usize = 4 * 1024 * 1024;

/// A line is longer than [`MAX_LINE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineTooLong;

/// A response, by its first byte that is not white space.
#[derive(Debug, Default)]
pub(super) enum EventLines {
    /// Only white space so far.
    #[default]
    Empty,
    Events(LineSplitter),
    Json(BytesMut),
}

impl EventLines {
    /// The lines that this piece completes, without `data:`.
    pub(super) fn feed(&mut self, mut piece: Bytes) -> Result<Vec<String>, LineTooLong> {
        if matches!(self, Self::Empty) {
            let blank = piece.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            piece.advance(blank);
            *self = match piece.first() {
                None => return Ok(Vec::new()),
                Some(b'{') => Self::Json(BytesMut::new()),
                Some(_) => Self::Events(LineSplitter::new(LineEnding::Any, MAX_LINE)),
            };
        }
        let mut found = Vec::new();
        match self {
            Self::Empty => {}
            Self::Json(body) if body.len() + piece.len() > MAX_LINE => return Err(LineTooLong),
            Self::Json(body) => body.extend_from_slice(&piece),
            Self::Events(lines) => {
                lines.push(piece);
                while let Some(line) = lines.next_line().map_err(|_| LineTooLong)? {
                    found.extend(data_field(&line));
                }
            }
        }
        Ok(found)
    }

    /// The rest at the end.
    pub(super) fn take_rest(&mut self) -> Option<String> {
        match std::mem::take(self) {
            Self::Empty => None,
            Self::Json(body) => Some(String::from_utf8_lossy(&body).trim().to_owned()),
            Self::Events(mut lines) => data_field(&lines.take_rest()?),
        }
    }
}

/// The data of an event line. Comments, names, numbers and empty lines have none.
fn data_field(line: &[u8]) -> Option<String> {
    let data = line.trim_ascii().strip_prefix(b"data:")?.trim_ascii();
    (!data.is_empty()).then(|| String::from_utf8_lossy(data).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pieces: &[&[u8]]) -> Vec<String> {
        let mut lines = EventLines::default();
        let pieces = pieces.iter().map(|piece| Bytes::copy_from_slice(piece));
        let mut found: Vec<_> = pieces.flat_map(|piece| lines.feed(piece).unwrap()).collect();
        found.extend(lines.take_rest());
        found
    }

    #[test]
    fn lines_may_be_cut_anywhere_even_in_a_character() {
        let wire = "\n: hello\n\nevent: message\ndata: {\"a\":\"é\"}\r\n\r\ndata:{\"b\":1}\ndata:{\"c\":1}\r\rdata: [DONE]";
        let want = ["{\"a\":\"é\"}", "{\"b\":1}", "{\"c\":1}", "[DONE]"];
        assert_eq!(all(&[wire.as_bytes()]), want);
        let bytes: Vec<_> = wire.as_bytes().chunks(1).collect();
        assert_eq!(all(&bytes), want);
    }

    #[test]
    fn plain_json_is_one_line() {
        assert_eq!(all(&[b"\n {\"a\":", b"\n1}\n"]), ["{\"a\":\n1}"]);
    }

    #[test]
    fn a_line_is_bounded() {
        for start in [&b"data: "[..], b"{\"a\": "] {
            let mut lines = EventLines::default();
            assert_eq!(lines.feed(Bytes::from_static(start)), Ok(vec![]));
            assert_eq!(lines.feed(Bytes::from(vec![b'x'; MAX_LINE - start.len()])), Ok(vec![]));
            assert_eq!(lines.feed(Bytes::from_static(b"x")), Err(LineTooLong));
        }
    }

    #[test]
    fn nothing_is_no_line() {
        assert_eq!(all(&[b"", b"\n\n", b"data:\n"]), Vec::<String>::new());
    }
}
