//! Puts secrets back into the arguments of a call.

use std::borrow::Cow;

use zeroize::Zeroizing;

use crate::{
    json::{self, StringRole},
    table::{CLOSING, MAX_PLACEHOLDER, OPENING, PlaceholderOwner, SecretTable, is_placeholder},
};

/// Most bytes of secrets that one call gets, so that a short list of placeholders cannot become a huge request.
pub const MAX_RESTORED_BYTES: usize = 256 * 1024;

/// What happened to the placeholders of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoreOutcome {
    /// Replaced by their secrets.
    pub restored: usize,
    /// Left as they are: their secrets came from other origins.
    pub foreign: usize,
    /// Left as they are: with their secrets the text would exceed [`MAX_RESTORED_BYTES`].
    pub too_long: usize,
    /// Left as they are: they have the form of a placeholder, but stand for nothing here.
    pub unknown: usize,
    /// The first placeholder that stands for nothing.
    pub first_unknown: Option<String>,
}

/// A JSON text with its secrets.
pub struct RestoredJson<'t> {
    /// The text; the original one if it has no placeholders.
    pub text: Cow<'t, str>,
    /// What happened to its placeholders.
    pub outcome: RestoreOutcome,
    /// The secrets that it has now, each once.
    pub secrets: Vec<Zeroizing<String>>,
}

/// Whether a text may have a placeholder. Quick, and without a look at what stands in the brackets.
pub fn may_have_placeholder(text: &str) -> bool {
    // In JSON, any character of it can be written as an escape.
    text.contains(OPENING) || text.contains("\\u00")
}

/// Restores the arguments of one call.
pub(crate) struct ArgumentRestorer<'s> {
    secrets: &'s SecretTable,
    /// Whose secrets are restored; all if there is none.
    origin: Option<&'s str>,
    bytes: usize,
    outcome: RestoreOutcome,
    used: Vec<&'s str>,
}

impl<'s> ArgumentRestorer<'s> {
    pub(crate) fn new(secrets: &'s SecretTable, origin: Option<&'s str>) -> Self {
        Self { secrets, origin, bytes: 0, outcome: RestoreOutcome::default(), used: Vec::new() }
    }

    /// Restores the strings of a JSON text, at any depth. Names of members stay as they are.
    pub(crate) fn restore_json<'t>(mut self, json: &'t str) -> RestoredJson<'t> {
        let mapped = json::map_strings(json, |string, role| match role {
            StringRole::Name => None,
            StringRole::Value(_) => self.restore_text(string),
        });
        let text = mapped.unwrap_or(Cow::Borrowed(json));
        let secrets = self.used.into_iter().map(|secret| Zeroizing::new(secret.to_owned())).collect();
        RestoredJson { text, outcome: self.outcome, secrets }
    }

    /// The text with its secrets; `None` if it has no placeholders.
    fn restore_text(&mut self, text: &str) -> Option<String> {
        let (before, mut rest) = text.split_once(OPENING)?;
        let mut restored = before.to_owned();
        loop {
            // What was restored is not searched again: a secret may look like a placeholder.
            match placeholder_at(rest) {
                Some(inner) => {
                    let placeholder = format!("{OPENING}{inner}{CLOSING}");
                    restored.push_str(self.secret(&placeholder).unwrap_or(&placeholder));
                    rest = &rest[inner.len() + CLOSING.len_utf8()..];
                }
                None => restored.push_str(OPENING),
            }
            let Some((before, after)) = rest.split_once(OPENING) else { break };
            restored.push_str(before);
            rest = after;
        }
        restored.push_str(rest);
        Some(restored)
    }

    fn secret(&mut self, placeholder: &str) -> Option<&'s str> {
        match self.secrets.owner(self.origin, placeholder) {
            PlaceholderOwner::Same(secret) if self.bytes + secret.len() <= MAX_RESTORED_BYTES => {
                self.outcome.restored += 1;
                self.bytes += secret.len();
                if !self.used.contains(&secret) {
                    self.used.push(secret);
                }
                return Some(secret);
            }
            PlaceholderOwner::Same(_) => self.outcome.too_long += 1,
            PlaceholderOwner::Other => self.outcome.foreign += 1,
            PlaceholderOwner::Unknown => {
                self.outcome.unknown += 1;
                self.outcome.first_unknown.get_or_insert_with(|| placeholder.to_owned());
            }
        }
        None
    }
}

/// What is between the opening and the closing bracket.
fn placeholder_at(text: &str) -> Option<&str> {
    let end = text.bytes().take(MAX_PLACEHOLDER).position(|byte| byte == CLOSING as u8)?;
    text.get(..end).filter(|inner| is_placeholder(inner))
}
