//! One reply of a scripted model.

use serde_json::Value;

/// How servers deviate from OpenAI's behavior.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VendorQuirk {
    /// A call comes in one chunk.
    WholeCalls,
    /// Chunks of calls have no `index`.
    NoIndex,
    /// All calls have the index 0; their ids differ.
    IndexZero,
    /// Calls have no `id`.
    NoIds,
    /// The arguments are JSON, not a JSON string.
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

/// The parts of a reply.
#[derive(Debug, Clone)]
pub(super) enum ReplyPiece {
    Text(String),
    Reasoning(String),
    Call {
        name: String,
        arguments: Vec<String>,
    },
    /// A signature of reasoning, for vendors that have it.
    Signature(String),
    /// Wait for [`super::ScriptedModel::release`].
    Hold,
    /// An error in the middle of a response.
    Error(Value),
    /// Breaks the connection.
    Cut,
    /// Raw text.
    Raw(String),
}

/// A status and a body instead of a reply.
#[derive(Debug, Clone)]
pub(super) struct ScriptedRefusal {
    pub(super) status: u16,
    pub(super) body: String,
    pub(super) headers: Vec<(String, String)>,
}

/// The reply to one request.
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
    /// An empty reply.
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

    /// A text in these chunks.
    pub fn pieces<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Self {
        pieces.into_iter().fold(Self::new(), Self::and_text)
    }

    /// A call.
    pub fn call(name: &str, arguments: Value) -> Self {
        Self::new().and_call(name, arguments)
    }

    /// This status and body instead of a reply; with 200, a response that is not streamed.
    pub fn error(status: u16, body: impl ToString) -> Self {
        let refusal = ScriptedRefusal { status, body: body.to_string(), headers: Vec::new() };
        Self { refusal: Some(refusal), ..Self::new() }
    }

    /// Then a text.
    pub fn and_text(self, text: &str) -> Self {
        self.push_piece(ReplyPiece::Text(text.to_owned()))
    }

    /// Then reasoning.
    pub fn and_reasoning(self, text: &str) -> Self {
        self.push_piece(ReplyPiece::Reasoning(text.to_owned()))
    }

    /// Then the signature of the preceding reasoning (Anthropic), or of the next call (Gemini).
    pub fn and_signature(self, signature: &str) -> Self {
        self.push_piece(ReplyPiece::Signature(signature.to_owned()))
    }

    /// Then a call, with its arguments in two chunks.
    pub fn and_call(self, name: &str, arguments: Value) -> Self {
        let text = arguments.to_string();
        let (one, two) = text.split_at(text.floor_char_boundary(text.len() / 2));
        self.and_call_in_pieces(name, [one, two])
    }

    /// Then a call, with its arguments in these chunks; none for a call without arguments.
    pub fn and_call_in_pieces<'a>(self, name: &str, pieces: impl IntoIterator<Item = &'a str>) -> Self {
        let arguments = pieces.into_iter().map(str::to_owned).collect();
        self.push_piece(ReplyPiece::Call { name: name.to_owned(), arguments })
    }

    /// Then it waits for [`super::ScriptedModel::release`].
    pub fn and_hold(self) -> Self {
        self.push_piece(ReplyPiece::Hold)
    }

    /// Waits for [`super::ScriptedModel::release`] before anything is sent, even the status.
    pub fn hold_first(mut self) -> Self {
        self.hold_first = true;
        self
    }

    /// Then an error in the middle of the response, and no end.
    pub fn and_error(self, error: Value) -> Self {
        self.push_piece(ReplyPiece::Error(error))
    }

    /// Then the connection breaks.
    pub fn and_cut(self) -> Self {
        self.push_piece(ReplyPiece::Cut)
    }

    /// Then raw text, in a stream.
    pub fn and_raw(self, text: &str) -> Self {
        self.push_piece(ReplyPiece::Raw(text.to_owned()))
    }

    /// The vendor's stop reason, instead of the usual one.
    pub fn with_stop_reason(mut self, word: &str) -> Self {
        self.stop = Some(word.to_owned());
        self
    }

    /// Input and output tokens.
    pub fn with_usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some((input, output));
        self
    }

    /// Adds a quirk.
    pub fn with_quirk(mut self, quirk: VendorQuirk) -> Self {
        self.quirks.push(quirk);
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

    pub(super) fn has_quirk(&self, quirk: VendorQuirk) -> bool {
        self.quirks.contains(&quirk)
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
