//! The texts of a definition, each with its place.

use serde_json::Value;

/// Largest text that is scanned, in bytes.
pub(super) const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Maximum number of texts of one definition.
const MAX_TEXTS: usize = 4_000;

/// What a text is in its definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    /// The name of the tool.
    ToolName,
    /// The name of a member, such as a parameter.
    MemberName,
    /// A text for people and models.
    Prose,
    /// A value: a default, an example, a member of an enum.
    Literal,
}

/// A text and where it is.
#[derive(Debug, Clone)]
pub(super) struct PlacedText<'d> {
    pub(super) pointer: String,
    pub(super) kind: TextKind,
    pub(super) text: &'d str,
}

/// Every text of a definition, up to the limits, and whether they are complete.
pub(super) fn collect_texts(definition: &Value) -> (Vec<PlacedText<'_>>, bool) {
    let mut found = TextCollector { texts: Vec::new(), bytes: 0, complete: true };
    found.walk("", "", definition);
    (found.texts, found.complete)
}

struct TextCollector<'d> {
    texts: Vec<PlacedText<'d>>,
    bytes: usize,
    complete: bool,
}

impl<'d> TextCollector<'d> {
    fn walk(&mut self, pointer: &str, member: &str, value: &'d Value) {
        match value {
            Value::String(text) => {
                let kind = match (pointer, member) {
                    ("/name", _) => TextKind::ToolName,
                    (
                        _,
                        "default" | "const" | "enum" | "examples" | "example" | "pattern" | "format" | "type",
                    ) => TextKind::Literal,
                    _ => TextKind::Prose,
                };
                self.push(pointer, kind, text);
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.walk(&format!("{pointer}/{index}"), member, item);
                }
            }
            Value::Object(members) => {
                for (name, value) in members {
                    let pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                    // Names of keywords are short and known; a sentence can hide in longer ones.
                    if name.len() > 3 {
                        self.push(&pointer, TextKind::MemberName, name);
                    }
                    self.walk(&pointer, name, value);
                }
            }
            _ => {}
        }
    }

    fn push(&mut self, pointer: &str, kind: TextKind, text: &'d str) {
        if self.texts.len() >= MAX_TEXTS || self.bytes + text.len() > MAX_TEXT_BYTES {
            self.complete = false;
            return;
        }
        self.bytes += text.len();
        self.texts.push(PlacedText { pointer: pointer.to_owned(), kind, text });
    }
}
