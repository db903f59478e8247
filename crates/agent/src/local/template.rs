//! A conversation in the form that the model was trained on, as its file tells.
//!
//! What people wrote must not become marks of that form. So the form is made with place holders, and the texts are put in
//! as tokens in which marks mean nothing.

use llama_cpp_2::{
    model::{LlamaChatMessage, LlamaChatTemplate},
    token::LlamaToken,
};

use super::engine::{Engine, broken};
use crate::model::ModelError;

/// The form where the file names none that is known.
const CHATML: &str = "chatml";

/// What somebody said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Turn {
    role: &'static str,
    text: String,
}

impl Turn {
    pub(super) fn new(role: &'static str, text: &str) -> Self {
        Self { role, text: text.to_owned() }
    }
}

impl Engine<'_> {
    /// The conversation up to where the assistant speaks.
    pub(super) fn conversation(&self, turns: &[Turn]) -> Result<Vec<LlamaToken>, ModelError> {
        let own = self.model.chat_template(None).ok();
        let form = own.and_then(|template| self.form(&template, turns));
        let form = match form {
            Some(form) => form,
            None => {
                let chatml = LlamaChatTemplate::new(CHATML).map_err(|error| broken(&error))?;
                self.form(&chatml, turns).ok_or_else(|| broken(&"no form for a conversation"))?
            }
        };
        let mut tokens = Vec::new();
        for piece in form {
            let first = tokens.is_empty();
            match piece {
                Piece::Form(text) => tokens.extend(self.tokens(&text, first, true)),
                Piece::Text(at) => {
                    tokens.extend(
                        turns.get(at).into_iter().flat_map(|turn| self.tokens(&turn.text, first, false)),
                    );
                }
            }
        }
        Ok(tokens)
    }

    /// The form by a template; None where it is not known, or leaves a turn out.
    fn form(&self, template: &LlamaChatTemplate, turns: &[Turn]) -> Option<Vec<Piece>> {
        let messages: Option<Vec<_>> = turns
            .iter()
            .enumerate()
            .map(|(at, turn)| LlamaChatMessage::new(turn.role.to_owned(), holder(at)).ok())
            .collect();
        let form = self.model.apply_chat_template(template, &messages?, true).ok()?;
        pieces(&form, turns.len())
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Form(String),
    /// The text of that turn.
    Text(usize),
}

/// Where the text of a turn belongs. No template has it of its own.
fn holder(at: usize) -> String {
    format!("@@{at}@@")
}

fn pieces(form: &str, turns: usize) -> Option<Vec<Piece>> {
    let (mut pieces, mut rest) = (Vec::new(), form);
    for at in 0..turns {
        let (before, after) = rest.split_once(&holder(at))?;
        if !before.is_empty() {
            pieces.push(Piece::Form(before.to_owned()));
        }
        pieces.push(Piece::Text(at));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Form(rest.to_owned()));
    }
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_cut_where_texts_belong() {
        let form = |text: &str| Piece::Form(text.to_owned());
        assert_eq!(
            pieces("<user>@@0@@<end><bot>@@1@@", 2),
            Some(vec![form("<user>"), Piece::Text(0), form("<end><bot>"), Piece::Text(1)])
        );
        assert_eq!(pieces("<user>@@1@@", 2), None, "a turn is missing");
    }
}
