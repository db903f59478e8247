//! Checks the order and number of chunks.

use std::collections::HashSet;

use toolyard_protocol::chat::message::MAX_PARTS;

use super::{StreamChunk, StreamError};

/// Most texts, reasoning parts, steps and calls of one answer. Servers accept no message with more parts.
pub const MAX_PIECES: usize = MAX_PARTS;
/// Most calls of one answer.
pub const MAX_CALLS: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum PartKind {
    Text,
    Reasoning,
}

#[derive(Debug, Default)]
pub(super) struct ChunkOrder {
    open: HashSet<(PartKind, String)>,
    calls: HashSet<String>,
    /// Calls from before this response.
    known: HashSet<String>,
    pieces: usize,
    over: bool,
}

impl ChunkOrder {
    pub(super) fn with_known_calls<'a>(calls: impl IntoIterator<Item = &'a str>) -> Self {
        Self { known: calls.into_iter().map(str::to_owned).collect(), ..Self::default() }
    }

    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    pub(super) fn check_chunk(&mut self, chunk: &StreamChunk) -> Result<(), StreamError> {
        if self.over {
            return Err(StreamError::AfterEnd { kind: super::shorten(chunk.kind()) });
        }
        match chunk {
            StreamChunk::StartStep => self.count_part(),
            StreamChunk::TextStart { id } => self.begin_part(PartKind::Text, "text-start", id),
            StreamChunk::TextDelta { id, .. } => self.check_open(PartKind::Text, "text-delta", id),
            StreamChunk::TextEnd { id } => self.end_part(PartKind::Text, "text-end", id),
            StreamChunk::ReasoningStart { id } => self.begin_part(PartKind::Reasoning, "reasoning-start", id),
            StreamChunk::ReasoningDelta { id, .. } => {
                self.check_open(PartKind::Reasoning, "reasoning-delta", id)
            }
            StreamChunk::ReasoningEnd { id } => self.end_part(PartKind::Reasoning, "reasoning-end", id),
            // A step ends the texts that it left open, as older clients do it.
            StreamChunk::FinishStep => {
                self.open.clear();
                Ok(())
            }
            StreamChunk::CallStart { id, .. } => self.add_call(id),
            StreamChunk::Call(call) | StreamChunk::CallError { call, .. } => self.add_call(&call.id),
            StreamChunk::CallDelta { id } if !self.calls.contains(id) => {
                Err(StreamError::NotBegun { kind: "tool-input-delta", id: super::shorten(id) })
            }
            StreamChunk::Output { id, .. } => self.check_result("tool-output-available", id),
            StreamChunk::OutputError { id, .. } => self.check_result("tool-output-error", id),
            StreamChunk::OutputDenied { id } => self.check_result("tool-output-denied", id),
            StreamChunk::Error { .. } | StreamChunk::Abort | StreamChunk::Finish { .. } => {
                self.over = true;
                Ok(())
            }
            // Data about a call may come after its end, and about calls that are not sent to this client.
            StreamChunk::CallDelta { .. }
            | StreamChunk::Start { .. }
            | StreamChunk::Tool(_)
            | StreamChunk::Progress(_)
            | StreamChunk::Notice(_)
            | StreamChunk::Other { .. } => Ok(()),
        }
    }

    fn begin_part(&mut self, kind: PartKind, name: &'static str, id: &str) -> Result<(), StreamError> {
        self.count_part()?;
        match self.open.insert((kind, id.to_owned())) {
            true => Ok(()),
            false => Err(StreamError::Duplicate { kind: name, id: super::shorten(id) }),
        }
    }

    fn check_open(&self, kind: PartKind, name: &'static str, id: &str) -> Result<(), StreamError> {
        match self.open.contains(&(kind, id.to_owned())) {
            true => Ok(()),
            false => Err(StreamError::NotBegun { kind: name, id: super::shorten(id) }),
        }
    }

    fn end_part(&mut self, kind: PartKind, name: &'static str, id: &str) -> Result<(), StreamError> {
        self.check_open(kind, name, id)?;
        self.open.remove(&(kind, id.to_owned()));
        Ok(())
    }

    /// A call may arrive in pieces, complete, or both. It counts once.
    fn add_call(&mut self, id: &str) -> Result<(), StreamError> {
        if !self.calls.insert(id.to_owned()) {
            return Ok(());
        }
        if self.calls.len() > MAX_CALLS {
            return Err(StreamError::TooMany { what: "calls", limit: MAX_CALLS });
        }
        self.count_part()
    }

    fn check_result(&self, kind: &'static str, id: &str) -> Result<(), StreamError> {
        match self.calls.contains(id) || self.known.contains(id) {
            true => Ok(()),
            false => Err(StreamError::UnknownCall { kind, id: super::shorten(id) }),
        }
    }

    fn count_part(&mut self) -> Result<(), StreamError> {
        self.pieces += 1;
        match self.pieces > MAX_PIECES {
            true => Err(StreamError::TooMany { what: "parts", limit: MAX_PIECES }),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tool::ToolCall;

    fn taken(chunks: &[StreamChunk]) -> Result<(), String> {
        let mut order = ChunkOrder::with_known_calls(["before"]);
        chunks.iter().try_for_each(|chunk| order.check_chunk(chunk)).map_err(|error| error.to_string())
    }

    fn id() -> String {
        "x".to_owned()
    }

    fn call(id: &str) -> StreamChunk {
        StreamChunk::Call(ToolCall::new(id, "t", json!({})))
    }

    const FINISH: StreamChunk = StreamChunk::Finish { reason: None, usage: None };

    #[test]
    fn a_valid_order_is_accepted() {
        let output =
            |id: &str| StreamChunk::Output { id: id.to_owned(), output: json!(1), preliminary: false };
        let good = [
            output("before"),
            StreamChunk::StartStep,
            StreamChunk::TextStart { id: id() },
            StreamChunk::ReasoningStart { id: id() },
            StreamChunk::TextDelta { id: id(), delta: id() },
            StreamChunk::TextEnd { id: id() },
            StreamChunk::TextStart { id: id() },
            StreamChunk::CallStart { id: "c".to_owned(), tool: "t".to_owned(), of_server: false },
            StreamChunk::CallDelta { id: "c".to_owned() },
            call("c"),
            output("c"),
            StreamChunk::FinishStep,
            StreamChunk::TextStart { id: id() },
            FINISH,
        ];
        assert_eq!(taken(&good), Ok(()));
    }

    #[test]
    fn each_violation_of_the_order_is_an_error() {
        let delta = StreamChunk::TextDelta { id: id(), delta: id() };
        let start = StreamChunk::TextStart { id: id() };
        for (chunks, why) in [
            (vec![delta.clone()], "`text-delta` comes for `x`, which has not begun"),
            (vec![StreamChunk::ReasoningStart { id: id() }, delta.clone()], "`text-delta` comes for"),
            (vec![StreamChunk::TextEnd { id: id() }], "`text-end` comes for `x`, which has not begun"),
            (vec![StreamChunk::ReasoningDelta { id: id(), delta: id() }], "`reasoning-delta` comes for"),
            (vec![start.clone(), StreamChunk::TextEnd { id: id() }, delta.clone()], "not begun"),
            (vec![start.clone(), StreamChunk::FinishStep, delta], "not begun"),
            (vec![start.clone(), start], "`text-start` comes twice for `x`"),
            (
                vec![StreamChunk::CallDelta { id: id() }],
                "`tool-input-delta` comes for `x`, which has not begun",
            ),
            (
                vec![StreamChunk::Output { id: id(), output: json!(1), preliminary: false }],
                "the call `x`, which was not made",
            ),
            (
                vec![StreamChunk::OutputError { id: id(), error: id() }],
                "`tool-output-error` comes for the call `x`",
            ),
            (vec![StreamChunk::OutputDenied { id: id() }], "`tool-output-denied` comes for the call `x`"),
            (vec![FINISH, FINISH], "`finish` comes after the end of the answer"),
            (vec![StreamChunk::Abort, StreamChunk::StartStep], "`start-step` comes after the end"),
            (vec![FINISH, StreamChunk::Other { kind: "new".to_owned() }], "`new` comes after the end"),
        ] {
            let error = taken(&chunks).unwrap_err();
            assert!(error.contains(why), "{why}: {error}");
        }
    }

    #[test]
    fn calls_and_parts_have_bounds() {
        let calls = |count: usize| (0..count).map(|n| call(&n.to_string())).collect::<Vec<_>>();
        assert_eq!(taken(&calls(MAX_CALLS)), Ok(()));
        assert_eq!(taken(&calls(MAX_CALLS + 1)), Err("the answer has more than 1000 calls".to_owned()));
        assert_eq!(taken(&vec![call("c"); MAX_CALLS + 1]), Ok(()), "one call counts once");
        assert_eq!(taken(&vec![StreamChunk::StartStep; MAX_PIECES]), Ok(()));
        assert_eq!(
            taken(&vec![StreamChunk::StartStep; MAX_PIECES + 1]),
            Err("the answer has more than 2000 parts".to_owned())
        );
    }
}
