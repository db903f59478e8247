//! What vendors do not accept in a tool. One rejected tool fails the whole request, so tools are made to fit: what
//! cannot be sent as schema becomes text in the description, and what cannot be sent at all is left out.
//!
//! Fitting is a pure function, and its results are cached in `fit_cache`. Fitting a fitted tool changes nothing but the
//! order.

mod fit_cache;
mod inline;
mod root;
mod shape;
mod words;

use std::sync::Arc;

use serde_json::Value;

use super::ToolSpec;
pub use fit_cache::FitCache;

/// The protocol that the tools are sent with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VendorFamily {
    /// OpenAI itself, without strict mode.
    OpenAi,
    /// Servers with OpenAI's protocol: llama-server, Ollama, vLLM, OpenRouter.
    Compatible,
    /// Anthropic.
    Anthropic,
    /// Gemini.
    Gemini,
}

/// Deepest nesting of a schema. Deeper parts are described as any JSON.
pub const MAX_DEPTH: usize = 12;

/// Longest schema, in bytes.
pub const MAX_SCHEMA: usize = 64 * 1024;

/// Longest description of a tool, in bytes. OpenAI rejected more than 1,024 characters until 2025.
pub const MAX_DESCRIPTION: usize = 16 * 1024;

/// What a family accepts.
struct FamilyLimits {
    /// Most tools in a request.
    tools: usize,
    /// Longest name of a tool.
    name: usize,
    /// The prefix for a name that begins with neither a letter nor `_`, if the family requires it.
    prefix: Option<&'static str>,
    /// The allowed characters in property names beside letters and digits, and the longest name. None if there is no
    /// limit.
    property: Option<(&'static str, usize)>,
    /// Keywords that are not allowed at the top.
    not_at_root: &'static [&'static str],
    keywords: AllowedKeywords,
}

/// The JSON Schema keywords that a family accepts.
enum AllowedKeywords {
    All,
    /// All but these.
    Without(&'static [&'static str]),
    /// Only these.
    Only(&'static [&'static str]),
}

impl AllowedKeywords {
    fn allows(&self, keyword: &str) -> bool {
        match self {
            Self::All => true,
            Self::Without(list) => !list.contains(&keyword),
            Self::Only(list) => list.contains(&keyword),
        }
    }
}

impl VendorFamily {
    const fn limits(self) -> FamilyLimits {
        match self {
            // "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level"
            Self::OpenAi => FamilyLimits {
                tools: 128,
                name: 64,
                prefix: None,
                property: None,
                not_at_root: &["oneOf", "anyOf", "allOf", "enum", "not"],
                keywords: AllowedKeywords::All,
            },
            // llama.cpp makes a grammar of the schema. It fails on a pattern without both anchors and on unknown
            // keywords. OpenRouter and others forward to OpenAI, so its rules apply as well.
            Self::Compatible => FamilyLimits {
                tools: 128,
                name: 64,
                prefix: None,
                property: None,
                not_at_root: &["oneOf", "anyOf", "allOf", "enum", "not"],
                keywords: AllowedKeywords::Without(&[
                    "pattern",
                    "not",
                    "if",
                    "then",
                    "else",
                    "dependentSchemas",
                    "dependentRequired",
                    "dependencies",
                    "patternProperties",
                    "propertyNames",
                    "contains",
                ]),
            },
            // "input_schema does not support oneOf, allOf, or anyOf at the top level"; "property keys should match
            // '^[a-zA-Z0-9_.-]{1,64}$'". The limit of tools is not documented, this is what others use.
            Self::Anthropic => FamilyLimits {
                tools: 256,
                name: 128,
                prefix: None,
                property: Some(("_.-", 64)),
                not_at_root: &["oneOf", "anyOf", "allOf"],
                keywords: AllowedKeywords::All,
            },
            // What both of its fields accept: the older one, a subset of OpenAPI, and `parametersJsonSchema`.
            Self::Gemini => FamilyLimits {
                tools: 128,
                name: 64,
                prefix: Some(LETTER_PREFIX),
                property: None,
                not_at_root: &["anyOf", "enum"],
                keywords: AllowedKeywords::Only(&[
                    "type",
                    "format",
                    "title",
                    "description",
                    "enum",
                    "items",
                    "minItems",
                    "maxItems",
                    "minimum",
                    "maximum",
                    "anyOf",
                    "properties",
                    "required",
                ]),
            },
        }
    }
}

/// The result of fitting a tool.
#[derive(Debug, Clone, PartialEq)]
pub enum FitResult {
    /// The tool to send, and the notes that replaced parts of its schema, each with its path.
    Sent(Arc<ToolSpec>, Vec<String>),
    /// The tool cannot be sent, and why.
    LeftOut(String),
}

/// Makes a tool fit a family.
pub fn fit_tool(family: VendorFamily, tool: &ToolSpec) -> FitResult {
    let limits = family.limits();
    if let Some(why) = name_problem(&limits, &tool.name) {
        return FitResult::LeftOut(why);
    }
    let mut moved = Vec::new();
    let schema = inline::inline_references(&tool.schema)
        .and_then(|schema| root::fit_root(&limits, schema, &mut moved))
        .and_then(|(schema, notes)| Ok((shape::fit_schema(family, &limits, schema, &mut moved)?, notes)));
    let (schema, mut notes) = match schema {
        Ok(fitted) => fitted,
        Err(why) => return FitResult::LeftOut(why),
    };
    let (schema, at_root) = shape::take_root_notes(schema);
    notes.extend(at_root);
    if let Some(why) = size_problem(&schema) {
        return FitResult::LeftOut(why);
    }
    let description = words::append_notes(&tool.description, &notes, MAX_DESCRIPTION);
    FitResult::Sent(Arc::new(ToolSpec { name: tool.name.clone(), description, schema }), moved)
}

/// Gemini's prefix for a name that begins with neither a letter nor `_`.
pub(super) const LETTER_PREFIX: &str = "n__";

/// Whether a name is sent with [`LETTER_PREFIX`]. A name that already begins with it gets it too, so that it can be
/// removed again.
pub(super) fn needs_prefix(name: &str) -> bool {
    name.starts_with(|c: char| !c.is_ascii_alphabetic() && c != '_') || name.starts_with(LETTER_PREFIX)
}

fn name_problem(limits: &FamilyLimits, name: &str) -> Option<String> {
    let room = limits.prefix.filter(|_| needs_prefix(name)).map_or(0, str::len);
    let fits = (1..=limits.name.saturating_sub(room)).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    (!fits).then(|| format!("its name must be 1 to {} letters, digits, _ or -", limits.name))
}

/// Whether a schema can be inlined for models at all. With this a caller gets an error instead of a tool that is never
/// offered.
pub fn check_written_out(schema: &Value) -> Result<(), String> {
    let schema = inline::inline_references(schema)?;
    size_problem(&schema).map_or(Ok(()), Err)
}

fn size_problem(schema: &Value) -> Option<String> {
    let bytes = schema.to_string().len();
    (bytes > MAX_SCHEMA).then(|| format!("its schema has {bytes} bytes, more than {MAX_SCHEMA}"))
}

/// Tools that fit, and those that do not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FittedTools {
    /// The tools to send.
    pub tools: Vec<Arc<ToolSpec>>,
    /// The tools that are left out: name and reason.
    pub left_out: Vec<(String, String)>,
}

/// Makes tools fit, as many as the family accepts. Logs what is left out in one line.
pub fn fit_tools(fits: &FitCache, family: VendorFamily, model: &str, tools: &[Arc<ToolSpec>]) -> FittedTools {
    let most = family.limits().tools;
    let mut fitted = FittedTools::default();
    for tool in tools {
        let why = match &*fits.get_or_fit(family, tool) {
            FitResult::Sent(tool, _) if fitted.tools.len() < most => {
                fitted.tools.push(tool.clone());
                continue;
            }
            FitResult::Sent(..) => format!("there are more than {most} tools"),
            FitResult::LeftOut(why) => why.clone(),
        };
        fitted.left_out.push((tool.name.clone(), why));
    }
    if !fitted.left_out.is_empty() {
        tracing::warn!(model, count = fitted.left_out.len(), left_out = ?fitted.left_out, "tools not sent to model");
    }
    fitted
}

#[cfg(test)]
mod tests;
