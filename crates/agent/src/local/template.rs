//! A conversation in the chat template of the model's file.
//!
//! User text must not become control tokens. So the template is applied to placeholders, and the texts are inserted as
//! tokens without control tokens.

use llama_cpp_2::{
    model::{LlamaChatMessage, LlamaChatTemplate},
    token::LlamaToken,
};

use super::engine::{LocalEngine, engine_error};
use crate::model::ModelError;

/// The template to use if the file has no supported one.
const CHATML: &str = "chatml";

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TemplateTurn {
    role: &'static str,
    text: String,
}

impl TemplateTurn {
    pub(super) fn new(role: &'static str, text: &str) -> Self {
        Self { role, text: text.to_owned() }
    }
}

impl LocalEngine<'_> {
    /// The tokens of the conversation, up to where the assistant's turn begins.
    pub(super) fn conversation_tokens(&self, turns: &[TemplateTurn]) -> Result<Vec<LlamaToken>, ModelError> {
        let own = self.model.chat_template(None).ok();
        let form = own.and_then(|template| self.apply_template(&template, turns));
        let form = match form {
            Some(form) => form,
            None => {
                let chatml = LlamaChatTemplate::new(CHATML).map_err(|error| engine_error(&error))?;
                self.apply_template(&chatml, turns)
                    .ok_or_else(|| engine_error(&"no form for a conversation"))?
            }
        };
        let mut tokens = Vec::new();
        for piece in form {
            let first = tokens.is_empty();
            match piece {
                TemplatePiece::Form(text) => tokens.extend(self.tokenize(&text, first, true)),
                TemplatePiece::Text(at) => {
                    tokens.extend(
                        turns.get(at).into_iter().flat_map(|turn| self.tokenize(&turn.text, first, false)),
                    );
                }
            }
        }
        Ok(tokens)
    }

    /// Applies a template. None if it is not supported, or omits a turn.
    fn apply_template(
        &self,
        template: &LlamaChatTemplate,
        turns: &[TemplateTurn],
    ) -> Option<Vec<TemplatePiece>> {
        let messages: Option<Vec<_>> = turns
            .iter()
            .enumerate()
            .map(|(at, turn)| LlamaChatMessage::new(turn.role.to_owned(), placeholder(at)).ok())
            .collect();
        let form = self.model.apply_chat_template(template, &messages?, true).ok()?;
        split_form(&form, turns.len())
    }
}

#[derive(Debug, PartialEq, Eq)]
enum TemplatePiece {
    Form(String),
    /// The text of that turn.
    Text(usize),
}

/// The placeholder for the text of a turn. No template contains it.
fn placeholder(at: usize) -> String {
    format!("@@{at}@@")
}

fn split_form(form: &str, turns: usize) -> Option<Vec<TemplatePiece>> {
    let (mut pieces, mut rest) = (Vec::new(), form);
    for at in 0..turns {
        let (before, after) = rest.split_once(&placeholder(at))?;
        if !before.is_empty() {
            pieces.push(TemplatePiece::Form(before.to_owned()));
        }
        pieces.push(TemplatePiece::Text(at));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(TemplatePiece::Form(rest.to_owned()));
    }
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_cut_where_texts_belong() {
        let form = |text: &str| TemplatePiece::Form(text.to_owned());
        assert_eq!(
            split_form("<user>@@0@@<end><bot>@@1@@", 2),
            Some(vec![form("<user>"), TemplatePiece::Text(0), form("<end><bot>"), TemplatePiece::Text(1)])
        );
        assert_eq!(split_form("<user>@@1@@", 2), None, "a turn is missing");
    }
}
