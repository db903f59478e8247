//! Reads the UI message stream: bytes in, cut anywhere, chunks out.
//!
//! Tolerant of what later servers may add: chunks and members that are not known are passed over. Strict on order: a text that
//! goes on without a beginning, a result without a call, anything after the end is an error, because what was lost in
//! between would be missing without a word. Bounded in lines, bytes, pieces and calls.
//!
//! | look for | in |
//! | --- | --- |
//! | bytes to lines | `lines` |
//! | lines to chunks | `chunk` |
//! | which chunk may follow which | `order` |
//! | what must hold for any bytes | [`check`] |

pub mod check;
mod chunk;
mod lines;
mod order;

use bytes::Bytes;

pub use chunk::{StreamChunk, StreamFinish, TokenUsage};
pub use lines::{MAX_ANSWER_BYTES, MAX_LINE_BYTES};
pub use order::{MAX_CALLS, MAX_PIECES};

use lines::LineBuffer;
use order::ChunkOrder;

/// How much of what is wrong is shown, in characters.
const SHOWN_CHARS: usize = 100;

/// Why a stream cannot be read on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// A line has no end.
    #[error("a line is longer than {limit} bytes")]
    LongLine {
        /// Most.
        limit: usize,
    },
    /// The whole has no end.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// Most.
        limit: usize,
    },
    /// Too many texts, steps and calls.
    #[error("the answer has more than {limit} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// Most.
        limit: usize,
    },
    /// Something that begins like a chunk and is no JSON.
    #[error("a chunk is no JSON: {shown}")]
    InvalidJson {
        /// Its beginning.
        shown: String,
    },
    /// A chunk of a known type without what it needs.
    #[error("a chunk `{kind}` cannot be read: {why}")]
    BadChunk {
        /// Its type.
        kind: String,
        /// What is missing.
        why: String,
    },
    /// Something begins twice.
    #[error("`{kind}` comes twice for `{id}`")]
    Duplicate {
        /// The type of the chunk.
        kind: &'static str,
        /// Which text or call.
        id: String,
    },
    /// Something goes on or ends that did not begin.
    #[error("`{kind}` comes for `{id}`, which has not begun")]
    NotBegun {
        /// The type of the chunk.
        kind: &'static str,
        /// Which text or call.
        id: String,
    },
    /// A result of a call that was not made.
    #[error("`{kind}` comes for the call `{id}`, which was not made")]
    UnknownCall {
        /// The type of the chunk.
        kind: &'static str,
        /// The call.
        id: String,
    },
    /// Something after the end.
    #[error("`{kind}` comes after the end of the answer")]
    AfterEnd {
        /// The type of the chunk.
        kind: String,
    },
}

/// A chunk, and the JSON that it was.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedChunk {
    /// What it says.
    pub chunk: StreamChunk,
    /// As it came.
    pub json: Bytes,
}

/// Reads one stream.
#[derive(Debug, Default)]
pub struct StreamReader {
    lines: LineBuffer,
    order: ChunkOrder,
    failed: Option<StreamError>,
}

impl StreamReader {
    /// For a new answer.
    pub fn new() -> Self {
        Self::default()
    }

    /// For an answer that goes on with a message that has these calls already.
    pub fn with_known_calls<'a>(calls: impl IntoIterator<Item = &'a str>) -> Self {
        Self { order: ChunkOrder::with_known_calls(calls), ..Self::default() }
    }

    /// Takes more bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.lines.push(bytes);
    }

    /// No more bytes will come: the last line need not have an end.
    pub fn finish(&mut self) {
        self.lines.finish();
    }

    /// Whether the answer has told its end. A stream that ends before was cut.
    pub fn is_over(&self) -> bool {
        self.order.is_over()
    }

    /// The next chunk; none until more bytes come. After an error, the same error.
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
            let Some(json) = chunk::chunk_json(line) else { continue };
            let chunk = match StreamChunk::parse(&json) {
                Ok(chunk) => chunk,
                Err(error) => return Some(Err(error)),
            };
            return Some(self.order.check_chunk(&chunk).map(|()| ReceivedChunk { chunk, json }));
        }
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(SHOWN_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<StreamChunk>, Option<StreamError>) {
        let mut reader = StreamReader::new();
        reader.push(text.as_bytes());
        reader.finish();
        let mut chunks = Vec::new();
        loop {
            match reader.next_chunk() {
                Some(Ok(told)) => chunks.push(told.chunk),
                Some(Err(error)) => {
                    assert_eq!(reader.next_chunk(), Some(Err(error.clone())), "it stays broken");
                    return (chunks, Some(error));
                }
                None => return (chunks, None),
            }
        }
    }

    #[test]
    fn what_is_not_known_is_passed_over() {
        let (chunks, error) = read(concat!(
            "\u{feff}: stream-open\r\n\r\nevent: x\r\nid: 7\r\nretry: 3\r\n",
            "data: {\"type\":\"start\",\"messageMetadata\":{\"a\":1},\"new\":[]}\r\n\r\n",
            "data:{\"type\":\"steering-message\",\"id\":\"1\",\"parts\":[]}\n\n",
            "data: {\"type\":\"data-tool\",\"data\":\"of another vendor\"}\n\n",
            "data: not a chunk\n\n",
            "data: {\"type\":\"finish\",\"finishReason\":\"interrupted\",\"new\":1}\n\ndata: [DONE]\n\n",
        ));
        let kinds: Vec<&str> = chunks.iter().map(StreamChunk::kind).collect();
        assert_eq!((kinds, error), (vec!["start", "steering-message", "data-tool", "finish"], None));
        assert!(
            matches!(&chunks[3], StreamChunk::Finish { reason: Some(StreamFinish::Other(word)), .. } if word == "interrupted")
        );
    }

    #[test]
    fn what_was_told_before_an_error_is_told() {
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
    fn the_end_of_an_answer_is_known() {
        let mut reader = StreamReader::new();
        reader.push(b"data: {\"type\":\"start\"}\n");
        assert!(reader.next_chunk().is_some() && !reader.is_over());
        reader.push(b"data: {\"type\":\"finish\"}");
        assert!(reader.next_chunk().is_none());
        reader.finish();
        assert!(reader.next_chunk().is_some() && reader.is_over());
    }
}
