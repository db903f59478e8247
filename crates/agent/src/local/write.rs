//! The model writes, a token after the other, freely or under a grammar.

use llama_cpp_2::{
    sampling::LlamaSampler,
    token::{LlamaToken, data::LlamaTokenData, data_array::LlamaTokenDataArray},
};
use tokio::sync::mpsc;

use super::{
    engine::{Engine, Tell, broken},
    template::Turn,
    trouble,
};
use crate::model::{ModelError, ModelTrouble, Usage};

/// What to write.
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) prompt: Prompt,
    pub(super) rule: Rule,
    pub(super) max_tokens: u32,
    /// 0 is the most likely text.
    pub(super) temperature: f32,
    pub(super) seed: u32,
}

/// What comes before.
#[derive(Debug)]
pub(super) enum Prompt {
    /// As it is; marks of the model's language mean something.
    Text(String),
    /// A conversation.
    Turns(Vec<Turn>),
}

/// What the text is held to, as GBNF.
#[derive(Debug)]
pub(super) enum Rule {
    Free,
    /// From its first character.
    Always(String),
    /// From where this begins, once it does. The grammar begins with it too.
    From {
        begin: String,
        grammar: String,
    },
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Said {
    Text(String),
    End { whole: bool, usage: Usage },
}

/// Marks with which a model begins a turn of somebody else.
const TURNS: [&[u8]; 3] = [b"<|im_start|>", b"<|start_header_id|>", b"<start_of_turn>"];
/// Why there is no next token.
const DEAD: &str = "the grammar allows nothing";

impl Engine<'_> {
    /// Writes until the end, the bound, or until nobody reads any more.
    pub(super) fn write(
        &mut self,
        wish: &Wish,
        sink: &mpsc::Sender<Result<Said, ModelError>>,
    ) -> Result<(), ModelError> {
        let mut tokens = match &wish.prompt {
            Prompt::Text(text) => self.tokens(text, true, true),
            Prompt::Turns(turns) => self.conversation(turns)?,
        };
        let input = tokens.len();
        // As long as wished where there is room, and at least one token.
        let most = (wish.max_tokens as usize).min(self.room().saturating_sub(input)).max(1);
        let read = self.read(&tokens, most, &|| sink.is_closed())?;
        let mut pen = Pen::new(self, wish)?;
        let mut letters = Letters::default();
        let mut whole = false;
        for _ in 0..most {
            let token = pen.pick(self)?;
            let vocab = self.model.vocab();
            // Marks are written out: some models begin a call with one.
            let piece = vocab.token_to_piece(token, true, None);
            if vocab.is_eog(token) || (vocab.is_control(token) && TURNS.contains(&&piece[..])) {
                whole = true;
                break;
            }
            let text = letters.push(&piece);
            if !text.is_empty() && sink.blocking_send(Ok(Said::Text(text))).is_err() {
                break;
            }
            self.decode(&[token], tokens.len(), read.slot, Tell::Last)?;
            tokens.push(token);
        }
        self.keep(read.slot, &tokens);
        let usage = Usage { input: input as u64, output: (tokens.len() - input) as u64 };
        drop(sink.blocking_send(Ok(Said::End { whole, usage })));
        Ok(())
    }
}

/// Chooses tokens.
struct Pen {
    grammar: Option<LlamaSampler>,
    chance: Option<LlamaSampler>,
}

impl Pen {
    fn new(engine: &Engine<'_>, wish: &Wish) -> Result<Self, ModelError> {
        let made = match &wish.rule {
            Rule::Free => None,
            Rule::Always(grammar) => Some(LlamaSampler::grammar(engine.model, grammar, "root")),
            Rule::From { begin, grammar } => {
                Some(LlamaSampler::grammar_lazy(engine.model, grammar, "root", [begin.as_bytes()], &[]))
            }
        };
        let grammar = made.transpose().map_err(|error| {
            let text = "The model in this process does not take the grammar of the tools.".to_owned();
            ModelError { cause: Some(error.to_string()), ..trouble(ModelTrouble::Refused, text) }
        })?;
        let chance = (wish.temperature > 0.0).then(|| {
            LlamaSampler::chain_simple([
                LlamaSampler::top_k(40),
                LlamaSampler::top_p(0.95, 1),
                LlamaSampler::temp(wish.temperature),
                LlamaSampler::dist(wish.seed),
            ])
        });
        Ok(Self { grammar, chance })
    }

    /// The next token. The whole vocabulary is held against the grammar only where the best token does not fit.
    fn pick(&mut self, engine: &Engine<'_>) -> Result<LlamaToken, ModelError> {
        let logits = engine.next();
        let all = || {
            logits
                .iter()
                .enumerate()
                .map(|(at, logit)| LlamaTokenData::new(LlamaToken(at as i32), *logit, 0.0))
        };
        let mut token = match &mut self.chance {
            None => best(all()),
            Some(chance) => chosen(chance, LlamaTokenDataArray::from_iter(all(), false)),
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
                    None => best(fitting),
                    Some(chance) => chosen(chance, LlamaTokenDataArray::from_iter(fitting, false)),
                };
            }
            if let Some(token) = token {
                grammar.try_accept(token).map_err(|error| broken(&error))?;
            }
        }
        token.ok_or_else(|| broken(&DEAD))
    }
}

fn best(tokens: impl Iterator<Item = LlamaTokenData>) -> Option<LlamaToken> {
    tokens.max_by(|one, other| one.logit().total_cmp(&other.logit())).map(|best| best.id())
}

fn chosen(chance: &mut LlamaSampler, mut tokens: LlamaTokenDataArray) -> Option<LlamaToken> {
    if tokens.data.is_empty() {
        return None;
    }
    chance.apply(&mut tokens);
    tokens.selected_token()
}

/// Bytes that become text: a character may come in several tokens.
#[derive(Debug, Default)]
struct Letters {
    begun: Vec<u8>,
}

impl Letters {
    /// The text that is whole by now. What can be no text is shown as such.
    fn push(&mut self, bytes: &[u8]) -> String {
        self.begun.extend_from_slice(bytes);
        let mut text = String::new();
        loop {
            match std::str::from_utf8(&self.begun) {
                Ok(whole) => {
                    text.push_str(whole);
                    self.begun.clear();
                    return text;
                }
                Err(error) => {
                    let (whole, rest) = self.begun.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(whole));
                    let Some(wrong) = error.error_len() else {
                        self.begun = rest.to_vec();
                        return text;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    self.begun = rest[wrong..].to_vec();
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
        let mut letters = Letters::default();
        let parts: Vec<_> = "a🙂é".as_bytes().iter().map(|byte| letters.push(&[*byte])).collect();
        assert_eq!(parts.concat(), "a🙂é");
        assert_eq!(letters.push(b"b\xffc\xf0\x9f"), "b\u{fffd}c");
        assert_eq!(letters.push(b"x"), "\u{fffd}x");
    }
}
