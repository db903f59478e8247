//! Grammars for the arguments of a tool, made from JSON Schema. The output is GBNF, which llama.cpp reads.
//!
//! With such a grammar a small model can only write what the schema allows: required members first, every string, list
//! and number bounded, no white space between tokens. Schemas are untrusted. One that does not fit into a grammar of
//! bounded size becomes a bounded JSON object of any kind. Some keywords (`pattern`, `multipleOf`, `not`, `if`,
//! `contains`, `dependentRequired`) are not possible in a grammar, so arguments are still checked afterwards.
//!
//! [`calls_grammar`] combines several of them, for models that may also write text. It applies from where a call
//! begins.
//!
//! | look for | in |
//! | --- | --- |
//! | the alternatives of a schema: `$ref`, `allOf`, `anyOf`, `oneOf` | `branches` |
//! | objects, lists, strings | `shape` |
//! | ranges of numbers | `number` |
//! | strings copied from the user's words | `copy` |
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

/// Most characters of a string, unless its schema requires more.
pub const MAX_STRING: usize = 120;
/// Most characters of a string, whatever its schema requires.
pub const MAX_LONG_STRING: usize = 1_000;
/// Most items of a list, unless its schema requires more.
pub const MAX_ITEMS: usize = 8;
/// Most items of a list, whatever its schema requires.
pub const MAX_LONG_LIST: usize = 32;
/// Most optional members of an object. Further ones are left out.
pub const MAX_OPTIONAL: usize = 12;
/// Most required members of an object.
pub const MAX_REQUIRED: usize = 32;
/// Most values of an enumeration. Further ones are left out.
pub const MAX_CHOICES: usize = 64;
/// Longest literal of a grammar in bytes: a member's name, or a value of an enumeration.
pub const MAX_LITERAL: usize = 512;
/// Deepest nesting of objects and lists.
pub const MAX_DEPTH: usize = 6;
/// Most schema parts that are processed for one grammar.
pub const MAX_WORK: usize = 1_024;
/// Longest grammar in bytes.
pub const MAX_GRAMMAR: usize = 32 * 1024;
/// Most words of the text that strings are copied from.
pub const MAX_WORDS: usize = 48;
/// Largest whole number, positive or negative: 15 digits are exact everywhere.
pub const MAX_WHOLE: u64 = 999_999_999_999_999;

/// Longest grammar for calls of several tools, in bytes.
pub const MAX_CALLS: usize = 128 * 1024;
/// Most consecutive calls.
pub const MAX_CALLS_AT_ONCE: usize = 4;

/// A grammar for the arguments of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grammar {
    text: String,
    of_schema: bool,
}

impl Grammar {
    /// The grammar as GBNF.
    pub fn gbnf(&self) -> &str {
        &self.text
    }

    /// Whether it follows the schema. Otherwise it allows any bounded JSON object.
    pub const fn is_of_schema(&self) -> bool {
        self.of_schema
    }
}

/// Why there is no rule for a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnfitSchema {
    /// Nothing within our limits matches it. An optional part is left out.
    Impossible,
    /// It exceeds the work or size limit: there is no grammar for the schema.
    TooMuch,
}

/// The grammar for arguments that match a schema.
pub fn arguments_grammar(schema: &Value) -> Grammar {
    schema_grammar(schema, "")
}

/// The same, but strings without restrictions consist of consecutive words of this text: a small model copies better
/// than it writes. The length of such a string depends on the text alone, so check the result.
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

/// The grammar for one or more calls by text, each as `<tool>{"name":…,"arguments":…}</tool>`: first the name of one of
/// these tools, then arguments that match its schema. None without tools. If the schemas together take more than
/// [`MAX_CALLS`] bytes, the later tools accept any JSON object.
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
