//! Checks the order and number of chunks.

use std::collections::HashSet;

use toolyard_protocol::chat::message::MAX_PARTS;

use super::{StreamError, UiChunk};

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

    pub(super) fn check_chunk(&mut self, chunk: &UiChunk) -> Result<(), StreamError> {
        if self.over {
            return Err(StreamError::AfterEnd { kind: super::shorten(chunk.kind()) });
        }
        match chunk {
            UiChunk::StartStep => self.count_part(),
            UiChunk::TextStart { id } => self.begin_part(PartKind::Text, "text-start", id),
            UiChunk::TextDelta { id, .. } => self.check_open(PartKind::Text, "text-delta", id),
            UiChunk::TextEnd { id } => self.end_part(PartKind::Text, "text-end", id),
            UiChunk::ReasoningStart { id } => self.begin_part(PartKind::Reasoning, "reasoning-start", id),
            UiChunk::ReasoningDelta { id, .. } => self.check_open(PartKind::Reasoning, "reasoning-delta", id),
            UiChunk::ReasoningEnd { id } => self.end_part(PartKind::Reasoning, "reasoning-end", id),
            // A step ends the texts that it left open, as older clients do it.
            UiChunk::FinishStep => {
                self.open.clear();
                Ok(())
            }
            UiChunk::ToolInputStart { tool_call_id, .. }
            | UiChunk::ToolInputAvailable { tool_call_id, .. }
            | UiChunk::ToolInputError { tool_call_id, .. } => self.add_call(tool_call_id),
            UiChunk::ToolInputDelta { tool_call_id, .. } if !self.calls.contains(tool_call_id) => {
                Err(StreamError::NotBegun { kind: "tool-input-delta", id: super::shorten(tool_call_id) })
            }
            UiChunk::ToolApprovalRequest { tool_call_id, .. } => {
                self.check_call("tool-approval-request", tool_call_id)
            }
            UiChunk::ToolOutputAvailable { tool_call_id, .. } => {
                self.check_call("tool-output-available", tool_call_id)
            }
            UiChunk::ToolOutputError { tool_call_id, .. } => {
                self.check_call("tool-output-error", tool_call_id)
            }
            UiChunk::ToolOutputDenied { tool_call_id } => self.check_call("tool-output-denied", tool_call_id),
            UiChunk::Error { .. } | UiChunk::Abort { .. } | UiChunk::Finish { .. } => {
                self.over = true;
                Ok(())
            }
            // Data about a call may come after its end, and about calls that are not sent to this client.
            UiChunk::ToolInputDelta { .. }
            | UiChunk::ToolApprovalResponse { .. }
            | UiChunk::Start { .. }
            | UiChunk::SourceUrl { .. }
            | UiChunk::SourceDocument { .. }
            | UiChunk::File { .. }
            | UiChunk::DataTool { .. }
            | UiChunk::DataApproval { .. }
            | UiChunk::DataSignIn { .. }
            | UiChunk::DataProgress { .. }
            | UiChunk::DataNotice { .. }
            | UiChunk::MessageMetadata { .. }
            | UiChunk::Data(_)
            | UiChunk::Other(_) => Ok(()),
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

    fn check_call(&self, kind: &'static str, id: &str) -> Result<(), StreamError> {
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
    use serde_json::{Value, json};

    use super::*;

    /// Reads the chunks and checks their order.
    fn taken(chunks: &[Value]) -> Result<(), String> {
        let mut order = ChunkOrder::with_known_calls(["before"]);
        chunks
            .iter()
            .map(|chunk| UiChunk::parse(chunk.to_string().as_bytes()).unwrap())
            .try_for_each(|chunk| order.check_chunk(&chunk))
            .map_err(|error| error.to_string())
    }

    fn chunk(kind: &str) -> Value {
        json!({ "type": kind })
    }

    /// A chunk of a text or reasoning `x`.
    fn part(kind: &str) -> Value {
        json!({ "type": kind, "id": "x", "delta": "x" })
    }

    /// A chunk about a call.
    fn about(kind: &str, id: &str) -> Value {
        json!({ "type": kind, "toolCallId": id, "toolName": "t", "input": {}, "inputTextDelta": "{", "output": 1,
            "errorText": "x", "approvalId": "a" })
    }

    fn call(id: &str) -> Value {
        about("tool-input-available", id)
    }

    #[test]
    fn a_valid_order_is_accepted() {
        let good = [
            about("tool-output-available", "before"),
            chunk("start-step"),
            part("text-start"),
            part("reasoning-start"),
            part("text-delta"),
            part("text-end"),
            part("text-start"),
            about("tool-input-start", "c"),
            about("tool-input-delta", "c"),
            call("c"),
            about("tool-approval-request", "c"),
            about("tool-output-available", "c"),
            chunk("finish-step"),
            part("text-start"),
            chunk("finish"),
        ];
        assert_eq!(taken(&good), Ok(()));
    }

    #[test]
    fn each_violation_of_the_order_is_an_error() {
        let (start, delta, end) = (part("text-start"), part("text-delta"), part("text-end"));
        for (chunks, why) in [
            (vec![delta.clone()], "`text-delta` comes for `x`, which has not begun"),
            (vec![part("reasoning-start"), delta.clone()], "`text-delta` comes for"),
            (vec![end.clone()], "`text-end` comes for `x`, which has not begun"),
            (vec![part("reasoning-delta")], "`reasoning-delta` comes for"),
            (vec![start.clone(), end, delta.clone()], "not begun"),
            (vec![start.clone(), chunk("finish-step"), delta], "not begun"),
            (vec![start.clone(), start], "`text-start` comes twice for `x`"),
            (vec![about("tool-input-delta", "x")], "`tool-input-delta` comes for `x`, which has not begun"),
            (vec![about("tool-output-available", "x")], "the call `x`, which was not made"),
            (vec![about("tool-output-error", "x")], "`tool-output-error` comes for the call `x`"),
            (vec![about("tool-output-denied", "x")], "`tool-output-denied` comes for the call `x`"),
            (vec![about("tool-approval-request", "x")], "`tool-approval-request` comes for the call `x`"),
            (vec![chunk("finish"), chunk("finish")], "`finish` comes after the end of the answer"),
            (vec![chunk("abort"), chunk("start-step")], "`start-step` comes after the end"),
            (vec![chunk("finish"), chunk("new")], "`new` comes after the end"),
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
        assert_eq!(taken(&vec![chunk("start-step"); MAX_PIECES]), Ok(()));
        assert_eq!(
            taken(&vec![chunk("start-step"); MAX_PIECES + 1]),
            Err("the answer has more than 2000 parts".to_owned())
        );
    }
}
