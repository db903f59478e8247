//! The rules of a grammar while it is built, and its literals.

use std::{collections::HashMap, fmt::Write as _};

use super::{MAX_GRAMMAR, MAX_ITEMS, MAX_STRING, UnfitSchema};

/// Any character that needs no escape in a JSON string.
const CHAR: &str = r#"[^"\\\x00-\x1F\x7F]"#;
/// The same without a space, because a model that begins a string with a space keeps writing spaces.
const FIRST: &str = r#"[^"\\ \x00-\x1F\x7F]"#;
/// Escapes that a model may need.
const ESCAPE: &str = r#""\\" ["\\nt]"#;

/// The rules so far. Equal rules are stored once.
#[derive(Debug, Default)]
pub(super) struct GrammarRules {
    /// The prefix of rule names, if several grammars are combined.
    prefix: String,
    text: String,
    names: HashMap<String, String>,
}

impl GrammarRules {
    /// Rules with this prefix.
    pub(super) fn with_prefix(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), ..Self::default() }
    }

    /// Adds a rule with this body, and returns its name.
    pub(super) fn add(&mut self, body: String) -> String {
        if let Some(name) = self.names.get(&body) {
            return name.clone();
        }
        let name = format!("{}r{}", self.prefix, self.names.len());
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{name} ::= {body}");
        self.names.insert(body, name.clone());
        name
    }

    /// Fails if the grammar is too long.
    pub(super) fn check_size(&self) -> Result<(), UnfitSchema> {
        if self.text.len() > MAX_GRAMMAR { Err(UnfitSchema::TooMuch) } else { Ok(()) }
    }

    /// The grammar with this root rule.
    pub(super) fn into_grammar(self, root: &str) -> String {
        format!("{}root ::= {root}\n{}", self.prefix, self.text)
    }

    /// A string with a limited number of characters.
    pub(super) fn string_rule(&mut self, min: usize, max: usize) -> String {
        if max == 0 {
            return self.add(r#""\"\"""#.to_owned());
        }
        let first = self.add(format!("{FIRST} | {ESCAPE}"));
        let next = self.add(format!("{CHAR} | {ESCAPE}"));
        let rest = repeat_rule(&next, min.saturating_sub(1), max - 1);
        let some = format!("{first} {rest}");
        let inside = if min == 0 { format!("( {} )?", some.trim_end()) } else { some };
        self.add(format!(r#""\"" {} "\"""#, inside.trim_end()))
    }

    /// A string, number, boolean or null.
    pub(super) fn any_scalar(&mut self) -> String {
        let string = self.string_rule(1, MAX_STRING);
        let number = self.add(super::number::any_number());
        self.add(format!(r#"{string} | {number} | "true" | "false" | "null""#))
    }

    /// Any value, with at most `depth` levels of lists and objects.
    pub(super) fn any_value(&mut self, depth: usize) -> String {
        let scalar = self.any_scalar();
        if depth == 0 {
            return scalar;
        }
        let inner = self.any_value(depth - 1);
        let list = self.list_rule(&inner, 0, MAX_ITEMS);
        let object = self.any_object(depth);
        self.add(format!("{scalar} | {list} | {object}"))
    }

    /// Any object.
    pub(super) fn any_object(&mut self, depth: usize) -> String {
        let value = self.any_value(depth.saturating_sub(1));
        self.map_rule(&value, 0, MAX_ITEMS)
    }

    /// An object with members of any name.
    pub(super) fn map_rule(&mut self, value: &str, min: usize, max: usize) -> String {
        let name = self.string_rule(1, MAX_STRING / 4);
        let member = self.add(format!(r#"{name} ":" {value}"#));
        self.enclosed_rule('{', &member, min, max, '}')
    }

    /// A list.
    pub(super) fn list_rule(&mut self, item: &str, min: usize, max: usize) -> String {
        self.enclosed_rule('[', item, min, max, ']')
    }

    fn enclosed_rule(&mut self, open: char, item: &str, min: usize, max: usize, close: char) -> String {
        if max == 0 {
            return self.add(format!(r#""{open}{close}""#));
        }
        let more = self.add(format!(r#""," {item}"#));
        let items = format!("{item} {}", repeat_rule(&more, min.saturating_sub(1), max - 1));
        let items = items.trim_end();
        let items = if min == 0 { format!("( {items} )?") } else { items.to_owned() };
        self.add(format!(r#""{open}" {items} "{close}""#))
    }
}

/// A repetition.
pub(super) fn repeat_rule(what: &str, min: usize, max: usize) -> String {
    match (min, max) {
        (_, 0) => String::new(),
        (1, 1) => what.to_owned(),
        (0, 1) => format!("{what}?"),
        (min, max) if min == max => format!("{what}{{{min}}}"),
        (min, max) => format!("{what}{{{min},{max}}}"),
    }
}

/// A literal. The text is never empty, and as JSON it has no control characters except perhaps DEL.
pub(super) fn quote_literal(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            c if c.is_ascii_control() => {
                let _ = write!(quoted, "\\x{:02X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
