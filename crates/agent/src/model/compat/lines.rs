//! The lines of a response. Each `data:` line is read on its own: chunks are one line of JSON, and some servers omit
//! the empty line between them. A plain JSON body counts as one line.

/// Longest line, in bytes. A whole call may be in one line.
pub(super) const MAX_LINE: usize = 4 * 1024 * 1024;

/// A line is longer than [`MAX_LINE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineTooLong;

#[derive(Debug, Default)]
pub(super) struct EventLines {
    kind: BodyFormat,
    open: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum BodyFormat {
    /// Only white space so far.
    #[default]
    Unknown,
    Events,
    Json,
}

impl EventLines {
    /// The lines that this piece completes, without `data:`.
    pub(super) fn feed(&mut self, piece: &[u8]) -> Result<Vec<String>, LineTooLong> {
        let mut lines = Vec::new();
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            if self.open.len().saturating_add(part.len()) > MAX_LINE {
                return Err(LineTooLong);
            }
            self.open.extend_from_slice(part);
            if self.kind == BodyFormat::Unknown {
                self.kind = match self.open.trim_ascii_start().first() {
                    Some(b'{') => BodyFormat::Json,
                    Some(_) => BodyFormat::Events,
                    None => BodyFormat::Unknown,
                };
            }
            if self.kind != BodyFormat::Json && part.ends_with(b"\n") {
                lines.extend(data_field(&std::mem::take(&mut self.open)));
            }
        }
        Ok(lines)
    }

    /// The rest at the end.
    pub(super) fn take_rest(&mut self) -> Option<String> {
        let rest = std::mem::take(&mut self.open);
        match self.kind {
            BodyFormat::Json => Some(String::from_utf8_lossy(&rest).trim().to_owned()),
            BodyFormat::Unknown | BodyFormat::Events => data_field(&rest),
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
        let mut found: Vec<_> = pieces.iter().flat_map(|piece| lines.feed(piece).unwrap()).collect();
        found.extend(lines.take_rest());
        found
    }

    #[test]
    fn lines_may_be_cut_anywhere_even_in_a_character() {
        let wire = ": hello\n\nevent: message\ndata: {\"a\":\"é\"}\r\n\r\ndata:{\"b\":1}\ndata: [DONE]";
        let want = ["{\"a\":\"é\"}", "{\"b\":1}", "[DONE]"];
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
        let mut lines = EventLines::default();
        assert_eq!(lines.feed(b"data: "), Ok(vec![]));
        assert_eq!(lines.feed(&vec![b'x'; MAX_LINE - 6]), Ok(vec![]));
        assert_eq!(lines.feed(b"x"), Err(LineTooLong));
    }

    #[test]
    fn nothing_is_no_line() {
        assert_eq!(all(&[b"", b"\n\n", b"data:\n"]), Vec::<String>::new());
    }
}
