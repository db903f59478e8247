//! What a scripted model says to one question.

use serde_json::Value;

/// A way in which servers deviate from what OpenAI does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VendorQuirk {
    /// A call comes whole, in one chunk.
    WholeCalls,
    /// Pieces of calls have no `index`.
    NoIndex,
    /// All calls have the index 0; their ids differ.
    IndexZero,
    /// Calls have no `id`.
    NoIds,
    /// The arguments are JSON, not text with JSON in it.
    ArgumentsAsJson,
    /// `finish_reason` is `stop` although there are calls.
    StopDespiteCalls,
    /// The stream ends without `[DONE]`.
    NoDone,
    /// The stream stays open after its end.
    StaysOpen,
    /// Lines end in CR and LF, with comments between them.
    CrLf,
}

/// What the model says, piece by piece.
#[derive(Debug, Clone)]
pub(super) enum ReplyPiece {
    Text(String),
    Reasoning(String),
    Call {
        name: String,
        arguments: Vec<String>,
    },
    /// A signature of a thought, where the vendor has such.
    Signature(String),
    /// Wait for [`super::ScriptedModel::release`].
    Hold,
    /// An error in the middle of a good answer.
    Error(Value),
    /// Break the connection.
    Cut,
    /// This, as it is.
    Raw(String),
}

/// A status and a body instead of an answer.
#[derive(Debug, Clone)]
pub(super) struct ScriptedRefusal {
    pub(super) status: u16,
    pub(super) body: String,
    pub(super) headers: Vec<(String, String)>,
}

/// What the model does with one question.
#[derive(Debug, Clone)]
pub struct ScriptedReply {
    pub(super) pieces: Vec<ReplyPiece>,
    pub(super) stop: Option<String>,
    pub(super) usage: Option<(u64, u64)>,
    pub(super) quirks: Vec<VendorQuirk>,
    pub(super) refusal: Option<ScriptedRefusal>,
    pub(super) hold_first: bool,
}

impl ScriptedReply {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            pieces: Vec::new(),
            stop: None,
            usage: None,
            quirks: Vec::new(),
            refusal: None,
            hold_first: false,
        }
    }

    /// A text.
    pub fn text(text: &str) -> Self {
        Self::new().and_text(text)
    }

    /// A text in these pieces.
    pub fn pieces<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Self {
        pieces.into_iter().fold(Self::new(), Self::and_text)
    }

    /// A call.
    pub fn call(name: &str, arguments: Value) -> Self {
        Self::new().and_call(name, arguments)
    }

    /// This status and body instead of an answer; with 200, an answer that is not streamed.
    pub fn error(status: u16, body: impl ToString) -> Self {
        let refusal = ScriptedRefusal { status, body: body.to_string(), headers: Vec::new() };
        Self { refusal: Some(refusal), ..Self::new() }
    }

    /// Then a text.
    pub fn and_text(self, text: &str) -> Self {
        self.push_piece(ReplyPiece::Text(text.to_owned()))
    }

    /// Then a thought.
    pub fn and_reasoning(self, text: &str) -> Self {
        self.push_piece(ReplyPiece::Reasoning(text.to_owned()))
    }

    /// Then the signature of the thought before (Anthropic), or of the call after (Gemini).
    pub fn and_signature(self, signature: &str) -> Self {
        self.push_piece(ReplyPiece::Signature(signature.to_owned()))
    }

    /// Then a call, its arguments in two pieces.
    pub fn and_call(self, name: &str, arguments: Value) -> Self {
        let text = arguments.to_string();
        let (one, two) = text.split_at(text.floor_char_boundary(text.len() / 2));
        self.and_call_in_pieces(name, [one, two])
    }

    /// Then a call, its arguments in these pieces; none for a call without any.
    pub fn and_call_in_pieces<'a>(self, name: &str, pieces: impl IntoIterator<Item = &'a str>) -> Self {
        let arguments = pieces.into_iter().map(str::to_owned).collect();
        self.push_piece(ReplyPiece::Call { name: name.to_owned(), arguments })
    }

    /// Then it waits for [`super::ScriptedModel::release`].
    pub fn and_hold(self) -> Self {
        self.push_piece(ReplyPiece::Hold)
    }

    /// Before anything, even the status, it waits for [`super::ScriptedModel::release`].
    pub fn hold_first(mut self) -> Self {
        self.hold_first = true;
        self
    }

    /// Then an error in the middle of the answer, and no end.
    pub fn and_error(self, error: Value) -> Self {
        self.push_piece(ReplyPiece::Error(error))
    }

    /// Then the connection breaks.
    pub fn and_cut(self) -> Self {
        self.push_piece(ReplyPiece::Cut)
    }

    /// Then this text as it is, in a stream.
    pub fn and_raw(self, text: &str) -> Self {
        self.push_piece(ReplyPiece::Raw(text.to_owned()))
    }

    /// The vendor's word for why it ended; else the usual one.
    pub fn with_stop_reason(mut self, word: &str) -> Self {
        self.stop = Some(word.to_owned());
        self
    }

    /// How many tokens were read and written.
    pub fn with_usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some((input, output));
        self
    }

    /// Deviates in this way as well.
    pub fn with_quirk(mut self, odd: VendorQuirk) -> Self {
        self.quirks.push(odd);
        self
    }

    /// A header of a refusal, such as `retry-after`.
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        let refusal = self.refusal.as_mut().expect("only a refusal has headers");
        refusal.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn push_piece(mut self, piece: ReplyPiece) -> Self {
        self.pieces.push(piece);
        self
    }

    pub(super) fn has_quirk(&self, odd: VendorQuirk) -> bool {
        self.quirks.contains(&odd)
    }

    pub(super) fn has_calls(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, ReplyPiece::Call { .. }))
    }
}

impl Default for ScriptedReply {
    fn default() -> Self {
        Self::new()
    }
}
