//! Generates text token by token, optionally with a grammar.

use llama_cpp_2::{
    sampling::LlamaSampler,
    token::{LlamaToken, data::LlamaTokenData, data_array::LlamaTokenDataArray},
};
use tokio::sync::mpsc;

use super::{
    engine::{LocalEngine, LogitsMode, engine_error},
    model_error,
    template::TemplateTurn,
};
use crate::model::{ModelError, ModelErrorKind, ModelUsage};

/// A request to generate text.
#[derive(Debug)]
pub(super) struct WriteRequest {
    pub(super) prompt: WritePrompt,
    pub(super) grammar: GrammarMode,
    pub(super) max_tokens: u32,
    /// With 0 the most likely text is generated.
    pub(super) temperature: f32,
    pub(super) seed: u32,
}

/// The prompt.
#[derive(Debug)]
pub(super) enum WritePrompt {
    /// Text in which control tokens are parsed.
    Text(String),
    /// A conversation.
    Turns(Vec<TemplateTurn>),
}

/// The grammar of the text, as GBNF.
#[derive(Debug)]
pub(super) enum GrammarMode {
    Free,
    /// For the whole text.
    Always(String),
    /// From where `begin` occurs. The grammar includes it.
    From {
        begin: String,
        grammar: String,
    },
}

/// An event of the generated text.
#[derive(Debug)]
pub(super) enum WriteEvent {
    Text(String),
    End { whole: bool, usage: ModelUsage },
}

/// Tokens that begin another turn.
const TURNS: [&[u8]; 3] = [b"<|im_start|>", b"<|start_header_id|>", b"<start_of_turn>"];
/// The error if there is no next token.
const DEAD: &str = "the grammar allows nothing";

impl LocalEngine<'_> {
    /// Generates until the end, the limit, or until the reader is gone.
    pub(super) fn write_text(
        &mut self,
        request: &WriteRequest,
        sink: &mpsc::Sender<Result<WriteEvent, ModelError>>,
    ) -> Result<(), ModelError> {
        let mut tokens = match &request.prompt {
            WritePrompt::Text(text) => self.tokenize(text, true, true),
            WritePrompt::Turns(turns) => self.conversation_tokens(turns)?,
        };
        let input = tokens.len();
        // As many tokens as requested if there is room, and at least one.
        let most = (request.max_tokens as usize).min(self.context_size().saturating_sub(input)).max(1);
        let read = self.read_prompt(&tokens, most, &|| sink.is_closed())?;
        let mut picker = TokenPicker::new(self, request)?;
        let mut buffer = Utf8Buffer::default();
        let mut whole = false;
        for _ in 0..most {
            let token = picker.pick_token(self)?;
            let vocab = self.model.vocab();
            // Control tokens are written as text: some models begin a call with one.
            let piece = vocab.token_to_piece(token, true, None);
            if vocab.is_eog(token) || (vocab.is_control(token) && TURNS.contains(&&piece[..])) {
                whole = true;
                break;
            }
            let text = buffer.push(&piece);
            if !text.is_empty() && sink.blocking_send(Ok(WriteEvent::Text(text))).is_err() {
                break;
            }
            self.decode(&[token], tokens.len(), read.slot, LogitsMode::Last)?;
            tokens.push(token);
        }
        self.cache_tokens(read.slot, &tokens);
        let usage = ModelUsage { input: input as u64, output: (tokens.len() - input) as u64 };
        drop(sink.blocking_send(Ok(WriteEvent::End { whole, usage })));
        Ok(())
    }
}

/// Chooses tokens.
struct TokenPicker {
    grammar: Option<LlamaSampler>,
    chance: Option<LlamaSampler>,
}

impl TokenPicker {
    fn new(engine: &LocalEngine<'_>, request: &WriteRequest) -> Result<Self, ModelError> {
        let made = match &request.grammar {
            GrammarMode::Free => None,
            GrammarMode::Always(grammar) => Some(LlamaSampler::grammar(engine.model, grammar, "root")),
            GrammarMode::From { begin, grammar } => {
                Some(LlamaSampler::grammar_lazy(engine.model, grammar, "root", [begin.as_bytes()], &[]))
            }
        };
        let grammar = made.transpose().map_err(|error| {
            let text = "The model in this process rejects the grammar of the tools.".to_owned();
            ModelError { cause: Some(error.to_string()), ..model_error(ModelErrorKind::Refused, text) }
        })?;
        let chance = (request.temperature > 0.0).then(|| {
            LlamaSampler::chain_simple([
                LlamaSampler::top_k(40),
                LlamaSampler::top_p(0.95, 1),
                LlamaSampler::temp(request.temperature),
                LlamaSampler::dist(request.seed),
            ])
        });
        Ok(Self { grammar, chance })
    }

    /// The next token. The whole vocabulary is checked against the grammar only if the best token does not match.
    fn pick_token(&mut self, engine: &LocalEngine<'_>) -> Result<LlamaToken, ModelError> {
        let logits = engine.next_logits();
        let all = || {
            logits
                .iter()
                .enumerate()
                .map(|(at, logit)| LlamaTokenData::new(LlamaToken(at as i32), *logit, 0.0))
        };
        let mut token = match &mut self.chance {
            None => best_token(all()),
            Some(chance) => sample_token(chance, LlamaTokenDataArray::from_iter(all(), false)),
        };
        if let Some(grammar) = &mut self.grammar {
            let logit =
                |token: LlamaToken| logits.get(token.0 as usize).copied().unwrap_or(f32::NEG_INFINITY);
            let fits = token.is_some_and(|token| {
                let mut one =
                    LlamaTokenDataArray::new(vec![LlamaTokenData::new(token, logit(token), 0.0)], false);
                grammar.apply(&mut one);
                one.data.first().is_some_and(|one| one.logit() > f32::NEG_INFINITY)
            });
            if !fits {
                let mut fitting = LlamaTokenDataArray::from_iter(all(), false);
                grammar.apply(&mut fitting);
                let fitting = fitting.data.into_iter().filter(|one| one.logit() > f32::NEG_INFINITY);
                token = match &mut self.chance {
                    None => best_token(fitting),
                    Some(chance) => sample_token(chance, LlamaTokenDataArray::from_iter(fitting, false)),
                };
            }
            if let Some(token) = token {
                grammar.try_accept(token).map_err(|error| engine_error(&error))?;
            }
        }
        token.ok_or_else(|| engine_error(&DEAD))
    }
}

fn best_token(tokens: impl Iterator<Item = LlamaTokenData>) -> Option<LlamaToken> {
    tokens.max_by(|one, other| one.logit().total_cmp(&other.logit())).map(|best| best.id())
}

fn sample_token(chance: &mut LlamaSampler, mut tokens: LlamaTokenDataArray) -> Option<LlamaToken> {
    if tokens.data.is_empty() {
        return None;
    }
    chance.apply(&mut tokens);
    tokens.selected_token()
}

/// Collects bytes to text: a character may span several tokens.
#[derive(Debug, Default)]
struct Utf8Buffer {
    pending: Vec<u8>,
}

impl Utf8Buffer {
    /// The complete text so far. Invalid bytes become replacement characters.
    fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut text = String::new();
        loop {
            match std::str::from_utf8(&self.pending) {
                Ok(whole) => {
                    text.push_str(whole);
                    self.pending.clear();
                    return text;
                }
                Err(error) => {
                    let (whole, rest) = self.pending.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(whole));
                    let Some(wrong) = error.error_len() else {
                        self.pending = rest.to_vec();
                        return text;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    self.pending = rest[wrong..].to_vec();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_come_in_parts_are_put_together() {
        let mut buffer = Utf8Buffer::default();
        let parts: Vec<_> = "a🙂é".as_bytes().iter().map(|byte| buffer.push(&[*byte])).collect();
        assert_eq!(parts.concat(), "a🙂é");
        assert_eq!(buffer.push(b"b\xffc\xf0\x9f"), "b\u{fffd}c");
        assert_eq!(buffer.push(b"x"), "\u{fffd}x");
    }
}
