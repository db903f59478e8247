//! Which chunk may follow which, and how many there may be.

use std::collections::HashSet;

use toolyard_protocol::chat::message::MAX_PARTS;

use super::{Chunk, StreamError};

/// Most texts, thoughts, steps and calls of one answer: servers take no message with more parts.
pub const MAX_PIECES: usize = MAX_PARTS;
/// Most calls of one answer.
pub const MAX_CALLS: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Text,
    Reasoning,
}

#[derive(Debug, Default)]
pub(super) struct Order {
    open: HashSet<(Kind, String)>,
    calls: HashSet<String>,
    /// Calls that were there before.
    known: HashSet<String>,
    pieces: usize,
    over: bool,
}

impl Order {
    pub(super) fn knowing<'a>(calls: impl IntoIterator<Item = &'a str>) -> Self {
        Self { known: calls.into_iter().map(str::to_owned).collect(), ..Self::default() }
    }

    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    pub(super) fn take(&mut self, chunk: &Chunk) -> Result<(), StreamError> {
        if self.over {
            return Err(StreamError::AfterEnd { kind: super::shown(chunk.kind()) });
        }
        match chunk {
            Chunk::StartStep => self.piece(),
            Chunk::TextStart { id } => self.begin(Kind::Text, "text-start", id),
            Chunk::TextDelta { id, .. } => self.goes_on(Kind::Text, "text-delta", id),
            Chunk::TextEnd { id } => self.ends(Kind::Text, "text-end", id),
            Chunk::ReasoningStart { id } => self.begin(Kind::Reasoning, "reasoning-start", id),
            Chunk::ReasoningDelta { id, .. } => self.goes_on(Kind::Reasoning, "reasoning-delta", id),
            Chunk::ReasoningEnd { id } => self.ends(Kind::Reasoning, "reasoning-end", id),
            // What a step left open is over with it: so say the older clients.
            Chunk::FinishStep => {
                self.open.clear();
                Ok(())
            }
            Chunk::CallStart { id, .. } => self.call(id),
            Chunk::Call(call) | Chunk::CallError { call, .. } => self.call(&call.id),
            Chunk::CallDelta { id } if !self.calls.contains(id) => {
                Err(StreamError::NotBegun { kind: "tool-input-delta", id: super::shown(id) })
            }
            Chunk::Output { id, .. } => self.result("tool-output-available", id),
            Chunk::OutputError { id, .. } => self.result("tool-output-error", id),
            Chunk::OutputDenied { id } => self.result("tool-output-denied", id),
            Chunk::Error { .. } | Chunk::Abort | Chunk::Finish { .. } => {
                self.over = true;
                Ok(())
            }
            // News of a call may come after its end, and about calls that are not told.
            Chunk::CallDelta { .. }
            | Chunk::Start { .. }
            | Chunk::Tool(_)
            | Chunk::Progress(_)
            | Chunk::Notice(_)
            | Chunk::Other { .. } => Ok(()),
        }
    }

    fn begin(&mut self, kind: Kind, name: &'static str, id: &str) -> Result<(), StreamError> {
        self.piece()?;
        match self.open.insert((kind, id.to_owned())) {
            true => Ok(()),
            false => Err(StreamError::Twice { kind: name, id: super::shown(id) }),
        }
    }

    fn goes_on(&self, kind: Kind, name: &'static str, id: &str) -> Result<(), StreamError> {
        match self.open.contains(&(kind, id.to_owned())) {
            true => Ok(()),
            false => Err(StreamError::NotBegun { kind: name, id: super::shown(id) }),
        }
    }

    fn ends(&mut self, kind: Kind, name: &'static str, id: &str) -> Result<(), StreamError> {
        self.goes_on(kind, name, id)?;
        self.open.remove(&(kind, id.to_owned()));
        Ok(())
    }

    /// A call is announced in pieces, whole, or both; it counts once.
    fn call(&mut self, id: &str) -> Result<(), StreamError> {
        if !self.calls.insert(id.to_owned()) {
            return Ok(());
        }
        if self.calls.len() > MAX_CALLS {
            return Err(StreamError::TooMany { what: "calls", limit: MAX_CALLS });
        }
        self.piece()
    }

    fn result(&self, kind: &'static str, id: &str) -> Result<(), StreamError> {
        match self.calls.contains(id) || self.known.contains(id) {
            true => Ok(()),
            false => Err(StreamError::NoCall { kind, id: super::shown(id) }),
        }
    }

    fn piece(&mut self) -> Result<(), StreamError> {
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
    use crate::tool::Call;

    fn taken(chunks: &[Chunk]) -> Result<(), String> {
        let mut order = Order::knowing(["before"]);
        chunks.iter().try_for_each(|chunk| order.take(chunk)).map_err(|error| error.to_string())
    }

    fn id() -> String {
        "x".to_owned()
    }

    fn call(id: &str) -> Chunk {
        Chunk::Call(Call::new(id, "t", json!({})))
    }

    const FINISH: Chunk = Chunk::Finish { reason: None, usage: None };

    #[test]
    fn a_good_order_is_taken() {
        let output = |id: &str| Chunk::Output { id: id.to_owned(), output: json!(1), preliminary: false };
        let good = [
            output("before"),
            Chunk::StartStep,
            Chunk::TextStart { id: id() },
            Chunk::ReasoningStart { id: id() },
            Chunk::TextDelta { id: id(), delta: id() },
            Chunk::TextEnd { id: id() },
            Chunk::TextStart { id: id() },
            Chunk::CallStart { id: "c".to_owned(), tool: "t".to_owned(), of_server: false },
            Chunk::CallDelta { id: "c".to_owned() },
            call("c"),
            output("c"),
            Chunk::FinishStep,
            Chunk::TextStart { id: id() },
            FINISH,
        ];
        assert_eq!(taken(&good), Ok(()));
    }

    #[test]
    fn each_breach_of_order_is_told() {
        let delta = Chunk::TextDelta { id: id(), delta: id() };
        let start = Chunk::TextStart { id: id() };
        for (chunks, why) in [
            (vec![delta.clone()], "`text-delta` comes for `x`, which has not begun"),
            (vec![Chunk::ReasoningStart { id: id() }, delta.clone()], "`text-delta` comes for"),
            (vec![Chunk::TextEnd { id: id() }], "`text-end` comes for `x`, which has not begun"),
            (vec![Chunk::ReasoningDelta { id: id(), delta: id() }], "`reasoning-delta` comes for"),
            (vec![start.clone(), Chunk::TextEnd { id: id() }, delta.clone()], "not begun"),
            (vec![start.clone(), Chunk::FinishStep, delta], "not begun"),
            (vec![start.clone(), start], "`text-start` comes twice for `x`"),
            (vec![Chunk::CallDelta { id: id() }], "`tool-input-delta` comes for `x`, which has not begun"),
            (
                vec![Chunk::Output { id: id(), output: json!(1), preliminary: false }],
                "the call `x`, which was not made",
            ),
            (
                vec![Chunk::OutputError { id: id(), error: id() }],
                "`tool-output-error` comes for the call `x`",
            ),
            (vec![Chunk::OutputDenied { id: id() }], "`tool-output-denied` comes for the call `x`"),
            (vec![FINISH, FINISH], "`finish` comes after the end of the answer"),
            (vec![Chunk::Abort, Chunk::StartStep], "`start-step` comes after the end"),
            (vec![FINISH, Chunk::Other { kind: "new".to_owned() }], "`new` comes after the end"),
        ] {
            let told = taken(&chunks).unwrap_err();
            assert!(told.contains(why), "{why}: {told}");
        }
    }

    #[test]
    fn calls_and_parts_have_bounds() {
        let calls = |count: usize| (0..count).map(|n| call(&n.to_string())).collect::<Vec<_>>();
        assert_eq!(taken(&calls(MAX_CALLS)), Ok(()));
        assert_eq!(taken(&calls(MAX_CALLS + 1)), Err("the answer has more than 1000 calls".to_owned()));
        assert_eq!(taken(&vec![call("c"); MAX_CALLS + 1]), Ok(()), "one call counts once");
        assert_eq!(taken(&vec![Chunk::StartStep; MAX_PIECES]), Ok(()));
        assert_eq!(
            taken(&vec![Chunk::StartStep; MAX_PIECES + 1]),
            Err("the answer has more than 2000 parts".to_owned())
        );
    }
}
