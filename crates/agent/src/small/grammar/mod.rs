//! Grammars for the arguments of a tool: JSON Schema in, GBNF (the form that llama.cpp reads) out.
//!
//! A small model under such a grammar can only write what the schema allows: required members first, every string, list
//! and number bounded, no white space between tokens. Schemas come from outside and may be anything; what cannot be put
//! into a grammar, or only into a large one, becomes a bounded JSON object of any kind. Some keywords (`pattern`,
//! `multipleOf`, `not`, `if`, `contains`, `dependentRequired`) are beyond a grammar, so arguments are checked afterwards
//! all the same.
//!
//! [`calls_grammar`] puts several of them together: for models that may also talk, and are held to it where a call begins.
//!
//! | look for | in |
//! | --- | --- |
//! | which alternatives a schema has: `$ref`, `allOf`, `anyOf`, `oneOf` | `branches` |
//! | objects, lists, strings | `shape` |
//! | ranges of numbers | `number` |
//! | strings out of the user's words | `copy` |
//! | rules and literals | `rules` |

mod branches;
mod copy;
mod number;
mod rules;
mod shape;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;

use self::{rules::GrammarRules, shape::GrammarBuilder};
use crate::model::ToolSpec;

/// Most characters of a string, where its schema does not ask for more.
pub const MAX_STRING: usize = 120;
/// Most characters of a string, whatever its schema asks for.
pub const MAX_LONG_STRING: usize = 1_000;
/// Most items of a list, where its schema does not ask for more.
pub const MAX_ITEMS: usize = 8;
/// Most items of a list, whatever its schema asks for.
pub const MAX_LONG_LIST: usize = 32;
/// Most optional members of an object; those after them are left out.
pub const MAX_OPTIONAL: usize = 12;
/// Most required members of an object.
pub const MAX_REQUIRED: usize = 32;
/// Most values of an enumeration; those after them are left out.
pub const MAX_CHOICES: usize = 64;
/// Longest literal of a grammar in bytes: a member's name, or a value of an enumeration.
pub const MAX_LITERAL: usize = 512;
/// Deepest nesting of objects and lists.
pub const MAX_DEPTH: usize = 6;
/// Most parts of schemas that are looked at for one grammar.
pub const MAX_WORK: usize = 1_024;
/// Longest grammar in bytes.
pub const MAX_GRAMMAR: usize = 32 * 1024;
/// Most words of a text of which strings are copied.
pub const MAX_WORDS: usize = 48;
/// Largest whole number, with its sign either way: 15 digits are exact everywhere.
pub const MAX_WHOLE: u64 = 999_999_999_999_999;

/// Most bytes of a grammar for calls of several tools.
pub const MAX_CALLS: usize = 128 * 1024;
/// Most calls that follow each other.
pub const MAX_CALLS_AT_ONCE: usize = 4;

/// A grammar for the arguments of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grammar {
    text: String,
    of_schema: bool,
}

impl Grammar {
    /// As GBNF.
    pub fn gbnf(&self) -> &str {
        &self.text
    }

    /// Whether it is that of the schema; else it allows any JSON object, within bounds.
    pub const fn is_of_schema(&self) -> bool {
        self.of_schema
    }
}

/// Why there is no rule for a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnfitSchema {
    /// Nothing within our bounds fits it. Where it is optional, it is left out.
    Impossible,
    /// It takes more work or room than there is: the whole grammar is given up.
    TooMuch,
}

/// The grammar for arguments that fit a schema.
pub fn arguments_grammar(schema: &Value) -> Grammar {
    schema_grammar(schema, "")
}

/// The same, but free strings are words of this text that follow each other: a small model copies better than it writes.
/// How long such a string is depends on the text alone, so check what was written.
pub fn copying_grammar(schema: &Value, text: &str) -> Grammar {
    schema_grammar(schema, text)
}

fn schema_grammar(schema: &Value, text: &str) -> Grammar {
    prefixed_grammar(schema, text, "")
}

fn prefixed_grammar(schema: &Value, text: &str, prefix: &str) -> Grammar {
    match GrammarBuilder::new(schema, text, prefix).and_then(GrammarBuilder::build_arguments) {
        Ok(text) => Grammar { text, of_schema: true },
        Err(UnfitSchema::Impossible | UnfitSchema::TooMuch) => prefixed_any_object(prefix),
    }
}

/// The grammar for one or more calls by text, each as `<tool>{"name":…,"arguments":…}</tool>`: the name first, one of these,
/// then arguments that fit its schema. None without tools. Where the schemas together take more than [`MAX_CALLS`] bytes,
/// the later tools get any JSON object.
pub fn calls_grammar(tools: &[Arc<ToolSpec>]) -> Option<Grammar> {
    let mut rules = String::new();
    let mut of_schema = true;
    let mut each = Vec::with_capacity(tools.len());
    for (at, tool) in tools.iter().enumerate() {
        let prefix = format!("t{at}-");
        let mut made = prefixed_grammar(&tool.schema, "", &prefix);
        if rules.len() + made.text.len() > MAX_CALLS {
            made = prefixed_any_object(&prefix);
        }
        of_schema &= made.of_schema;
        let begin = format!("{},\"arguments\":", Value::from(tool.name.as_str()));
        each.push(format!("{} {prefix}root", rules::quote_literal(&begin)));
        rules.push_str(&made.text);
    }
    if each.is_empty() {
        return None;
    }
    let begin = rules::quote_literal("<tool>{\"name\":");
    let more = rules::repeat_rule("more", 0, MAX_CALLS_AT_ONCE - 1);
    let text = format!(
        "root ::= call {more}\nmore ::= \"\\n\" call\ncall ::= {begin} ( {} ) \"}}</tool>\"\n{rules}",
        each.join(" | ")
    );
    Some(Grammar { text, of_schema })
}

/// Any JSON object, two levels deep.
pub fn any_object_grammar() -> Grammar {
    prefixed_any_object("")
}

fn prefixed_any_object(prefix: &str) -> Grammar {
    let mut rules = GrammarRules::with_prefix(prefix);
    let root = rules.any_object(2);
    Grammar { text: rules.into_grammar(&root), of_schema: false }
}
