//! Replaces the secrets of tool results by placeholders.

use std::{borrow::Cow, fmt};

use crate::{
    context,
    find::{SecretMatch, find_in_member},
    json,
    known::KnownSecrets,
    restore::{ArgumentRestorer, RestoredJson},
    table::SecretTable,
};

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedText<'t> {
    /// The text; the original one if it has no secrets.
    pub text: Cow<'t, str>,
    /// How many secrets were replaced.
    pub count: usize,
}

/// The secrets of one conversation or session. Keep one for each: a placeholder of another conversation is unknown here.
pub struct Redactor {
    secrets: SecretTable,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("secrets", &self.secrets.len()).finish_non_exhaustive()
    }
}

impl Redactor {
    /// A redactor whose placeholders cannot be guessed without these random bytes.
    pub fn new(random: [u8; 32]) -> Self {
        Self { secrets: SecretTable::new(random) }
    }

    /// The placeholder of a secret that came from this origin: always the same one as long as the secret is stored.
    pub fn placeholder(&mut self, origin: &str, kind: &str, secret: &str) -> String {
        self.secrets.placeholder(origin, kind, secret)
    }

    /// Replaces the secrets of a plain text that came from this origin.
    pub fn redact_text<'t>(&mut self, origin: &str, text: &'t str) -> RedactedText<'t> {
        redact_text(text, &KnownSecrets::default(), |kind, secret| self.placeholder(origin, kind, secret))
    }

    /// Replaces the secrets in the strings of a JSON text that came from this origin.
    pub fn redact_json<'t>(&mut self, origin: &str, json: &'t str) -> RedactedText<'t> {
        redact_json(json, &KnownSecrets::default(), |kind, secret| self.placeholder(origin, kind, secret))
    }

    /// Puts secrets back into the strings of a JSON text, for a tool of this origin. Placeholders of other origins stay as they
    /// are, and so does everything else, byte for byte.
    pub fn restore_json<'t>(&self, origin: &str, json: &'t str) -> RestoredJson<'t> {
        ArgumentRestorer::new(&self.secrets, Some(origin)).restore_json(json)
    }

    /// The same for the person whose secrets they are: of every origin.
    pub fn reveal_json<'t>(&self, json: &'t str) -> RestoredJson<'t> {
        ArgumentRestorer::new(&self.secrets, None).restore_json(json)
    }

    /// How many secrets are stored now.
    pub fn stored(&self) -> usize {
        self.secrets.len()
    }
}

/// Replaces the secrets of a plain text by what `placeholder` returns for their kind and value.
pub fn redact_text<'t>(
    text: &'t str,
    known: &KnownSecrets,
    placeholder: impl FnMut(&str, &str) -> String,
) -> RedactedText<'t> {
    let found = find_in_member(text, None, known);
    let count = found.len();
    let text = if count == 0 { text.into() } else { replace(text, &found, placeholder).into() };
    RedactedText { text, count }
}

/// Replaces the secrets in the strings of a JSON text by what `placeholder` returns for their kind and value. Everything else in
/// it stays as it is, byte for byte. Without a secret, nothing is copied.
pub fn redact_json<'t>(
    json: &'t str,
    known: &KnownSecrets,
    mut placeholder: impl FnMut(&str, &str) -> String,
) -> RedactedText<'t> {
    let none = KnownSecrets::default();
    let is_plain = !json::hides_characters(json) && !context::may_name_secret(json);
    if known.is_empty() && is_plain && find_in_member(json, None, &none).is_empty() {
        return RedactedText { text: json.into(), count: 0 };
    }
    let mut count = 0;
    let walked = json::map_strings(json, |string, role| {
        let found = find_in_member(string, role.member(), known);
        count += found.len();
        (!found.is_empty()).then(|| replace(string, &found, &mut placeholder))
    });
    // What only the whole text shows, and text that is not JSON after all. Known secrets may be anything, even what JSON needs.
    let known = if walked.is_none() { known } else { &none };
    let text = walked.unwrap_or_else(|| json.into());
    let rest = find_in_member(&text, None, known);
    if rest.is_empty() {
        return RedactedText { text, count };
    }
    RedactedText { text: replace(&text, &rest, placeholder).into(), count: count + rest.len() }
}

fn replace(text: &str, found: &[SecretMatch], mut placeholder: impl FnMut(&str, &str) -> String) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut copied = 0;
    for secret in found {
        replaced.push_str(&text[copied..secret.range.start]);
        replaced.push_str(&placeholder(secret.kind, &text[secret.range.clone()]));
        copied = secret.range.end;
    }
    replaced.push_str(&text[copied..]);
    replaced
}
