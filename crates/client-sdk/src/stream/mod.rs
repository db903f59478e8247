//! Parses the UI message stream: bytes in, split anywhere, chunks out.
//!
//! Tolerant of additions by later servers: unknown chunks and fields are ignored. Strict about order: a text delta without a
//! start, a result without a call, or anything after the end is an error, because otherwise lost data would go unnoticed.
//! Lines, bytes, parts and calls are limited.
//!
//! | look for | in |
//! | --- | --- |
//! | bytes to lines, lines to JSON | `lines` |
//! | JSON to chunks | [`UiChunk::parse`] |
//! | the order of chunks | `order` |
//! | tokens used | `usage` |
//! | checks for fuzzing | [`check`] |

pub mod check;
mod lines;
mod order;
mod usage;

use bytes::Bytes;

pub use lines::{MAX_ANSWER_BYTES, MAX_LINE_BYTES};
pub use order::{MAX_CALLS, MAX_PIECES};
pub use toolyard_protocol::chat::{FinishReason, ui::UiChunk};
pub use usage::TokenUsage;

use lines::{LineBuffer, chunk_json};
use order::ChunkOrder;
use toolyard_protocol::{chat::ui::UiChunkError, text::truncate_chars};

/// How much of an invalid chunk an error shows, in characters.
const SHOWN_CHARS: usize = 100;

/// Why a stream cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// A line is too long.
    #[error("a line is longer than {limit} bytes")]
    LongLine {
        /// The limit.
        limit: usize,
    },
    /// The response is too large.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// Too many texts, steps or calls.
    #[error("the answer has more than {limit} {what}")]
    TooMany {
        /// `parts` or `calls`.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A chunk is not valid JSON.
    #[error("a chunk is not valid JSON: {shown}")]
    InvalidJson {
        /// The beginning of the chunk.
        shown: String,
    },
    /// A chunk of a known type lacks a field.
    #[error("a chunk `{kind}` cannot be read: {why}")]
    BadChunk {
        /// Its type.
        kind: String,
        /// What is missing.
        why: String,
    },
    /// A text or reasoning begins twice.
    #[error("`{kind}` comes twice for `{id}`")]
    Duplicate {
        /// The type of the chunk.
        kind: &'static str,
        /// Which text or call.
        id: String,
    },
    /// A text, reasoning or call continues or ends without a start.
    #[error("`{kind}` comes for `{id}`, which has not begun")]
    NotBegun {
        /// The type of the chunk.
        kind: &'static str,
        /// Which text or call.
        id: String,
    },
    /// A result or an approval request without a call.
    #[error("`{kind}` comes for the call `{id}`, which was not made")]
    UnknownCall {
        /// The type of the chunk.
        kind: &'static str,
        /// The call.
        id: String,
    },
    /// A chunk after the end.
    #[error("`{kind}` comes after the end of the answer")]
    AfterEnd {
        /// The type of the chunk.
        kind: String,
    },
}

/// A chunk and its JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedChunk {
    /// The parsed chunk.
    pub chunk: UiChunk,
    /// Its JSON as received.
    pub json: Bytes,
}

/// Parses one stream.
#[derive(Debug, Default)]
pub struct StreamReader {
    lines: LineBuffer,
    order: ChunkOrder,
    failed: Option<StreamError>,
}

impl StreamReader {
    /// A reader for a new answer.
    pub fn new() -> Self {
        Self::default()
    }

    /// A reader for an answer that continues a message with these calls.
    pub fn with_known_calls<'a>(calls: impl IntoIterator<Item = &'a str>) -> Self {
        Self { order: ChunkOrder::with_known_calls(calls), ..Self::default() }
    }

    /// Adds bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.lines.push(bytes);
    }

    /// Marks the end of the bytes. The last line needs no line end.
    pub fn finish(&mut self) {
        self.lines.finish();
    }

    /// Whether the answer is complete. A stream that ends earlier was truncated.
    pub fn is_over(&self) -> bool {
        self.order.is_over()
    }

    /// The next chunk. `None` until more bytes arrive. After an error, always the same error.
    pub fn next_chunk(&mut self) -> Option<Result<ReceivedChunk, StreamError>> {
        if let Some(error) = &self.failed {
            return Some(Err(error.clone()));
        }
        let read = self.read_chunk();
        if let Some(Err(error)) = &read {
            self.failed = Some(error.clone());
        }
        read
    }

    fn read_chunk(&mut self) -> Option<Result<ReceivedChunk, StreamError>> {
        loop {
            let line = match self.lines.next()? {
                Ok(line) => line,
                Err(error) => return Some(Err(error)),
            };
            let Some(json) = chunk_json(line) else { continue };
            let chunk = match UiChunk::parse(&json) {
                Ok(chunk) => chunk,
                Err(error) => return Some(Err(parse_error(error, &json))),
            };
            return Some(self.order.check_chunk(&chunk).map(|()| ReceivedChunk { chunk, json }));
        }
    }
}

fn parse_error(error: UiChunkError, json: &[u8]) -> StreamError {
    match error {
        UiChunkError::NotAnObject => {
            StreamError::InvalidJson { shown: shorten(&String::from_utf8_lossy(json)) }
        }
        UiChunkError::InvalidField { kind, why } => StreamError::BadChunk { kind, why },
    }
}

fn shorten(text: &str) -> String {
    truncate_chars(text, SHOWN_CHARS).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<UiChunk>, Option<StreamError>) {
        let mut reader = StreamReader::new();
        reader.push(text.as_bytes());
        reader.finish();
        let mut chunks = Vec::new();
        loop {
            match reader.next_chunk() {
                Some(Ok(received)) => chunks.push(received.chunk),
                Some(Err(error)) => {
                    assert_eq!(reader.next_chunk(), Some(Err(error.clone())), "it stays broken");
                    return (chunks, Some(error));
                }
                None => return (chunks, None),
            }
        }
    }

    #[test]
    fn unknown_lines_and_fields_are_ignored() {
        let (chunks, error) = read(concat!(
            "\u{feff}: stream-open\r\n\r\nevent: x\r\nid: 7\r\nretry: 3\r\n",
            "data: {\"type\":\"start\",\"messageMetadata\":{\"a\":1},\"new\":[]}\r\n\r\n",
            "data:{\"type\":\"steering-message\",\"id\":\"1\",\"parts\":[]}\n\n",
            "data: {\"type\":\"data-tool\",\"data\":\"of another vendor\"}\n\n",
            "data: not a chunk\n\n",
            "data: {\"type\":\"finish\",\"finishReason\":\"interrupted\",\"new\":1}\n\ndata: [DONE]\n\n",
        ));
        let kinds: Vec<&str> = chunks.iter().map(UiChunk::kind).collect();
        assert_eq!((kinds, error), (vec!["start", "steering-message", "data-tool", "finish"], None));
        assert!(
            matches!(&chunks[3], UiChunk::Finish { finish_reason: Some(FinishReason::Unknown(word)), .. } if word == "interrupted")
        );
    }

    #[test]
    fn chunks_before_an_error_are_returned() {
        let (chunks, error) =
            read("data: {\"type\":\"start\"}\ndata: {\"type\":\ndata: {\"type\":\"start-step\"}\n");
        assert_eq!(
            (chunks.len(), error),
            (1, Some(StreamError::InvalidJson { shown: "{\"type\":".to_owned() }))
        );
        let (_, error) = read("data: {\"no\":\"type\"}\n");
        assert!(matches!(error, Some(StreamError::BadChunk { .. })), "{error:?}");
    }

    #[test]
    fn the_end_of_an_answer_is_detected() {
        let mut reader = StreamReader::new();
        reader.push(b"data: {\"type\":\"start\"}\n");
        assert!(reader.next_chunk().is_some() && !reader.is_over());
        reader.push(b"data: {\"type\":\"finish\"}");
        assert!(reader.next_chunk().is_none());
        reader.finish();
        assert!(reader.next_chunk().is_some() && reader.is_over());
    }
}
