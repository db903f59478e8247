//! Strings of consecutive words from a text.

use serde_json::json;

use super::{
    MAX_LITERAL, MAX_WORDS,
    rules::{GrammarRules, quote_literal},
};

/// The rule for a string of one or more words of a text. None if it has no words. Punctuation is removed at the end of
/// the string, optional at its start, and kept inside.
pub(super) fn copied_words_rule(text: &str, rules: &mut GrammarRules) -> Option<String> {
    let words: Vec<&str> =
        text.split_whitespace().filter(|word| word.len() <= MAX_LITERAL / 8).take(MAX_WORDS).collect();
    let mut starts = Vec::new();
    // From the last word to the first, because each rule refers to the next.
    let mut next: Option<String> = None;
    for word in words.iter().rev() {
        let (start, on) = (word.trim_start_matches(is_edge), next.take());
        starts.extend(word_rule(start, on.as_deref(), rules));
        next = word_rule(word, on.as_deref(), rules);
        starts.extend(next.clone());
    }
    starts.reverse();
    starts.dedup();
    if starts.is_empty() {
        return None;
    }
    let any = rules.add(starts.join(" | "));
    Some(rules.add(format!(r#""\"" {any} "\"""#)))
}

/// This word, optionally followed by the next ones.
fn word_rule(word: &str, next: Option<&str>, rules: &mut GrammarRules) -> Option<String> {
    if word.is_empty() {
        return None;
    }
    let last = word.trim_end_matches(is_edge);
    let ends = (!last.is_empty()).then(|| quote_literal(&escape_json(last)));
    let goes_on = next.map(|next| format!("{} {next}", quote_literal(&escape_json(&format!("{word} ")))));
    let body: Vec<_> = ends.into_iter().chain(goes_on).collect();
    (!body.is_empty()).then(|| rules.add(body.join(" | ")))
}

/// The text inside a JSON string.
fn escape_json(text: &str) -> String {
    let quoted = json!(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn is_edge(c: char) -> bool {
    matches!(
        c,
        '.' | ','
            | ';'
            | ':'
            | '!'
            | '?'
            | '"'
            | '\''
            | '('
            | ')'
            | '“'
            | '”'
            | '„'
            | '«'
            | '»'
            | '‘'
            | '’'
            | '¿'
            | '¡'
    )
}
