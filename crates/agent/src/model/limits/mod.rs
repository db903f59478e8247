//! What vendors do not take of a tool, in one place. One tool that a vendor refuses fails the whole request, so tools are
//! made to fit: what cannot be sent as schema is said in words, and what cannot be sent at all is left out.
//!
//! Fitting is a pure function; what came of it is kept in `kept`. Fitting what fits changes nothing but order, so it may be
//! done twice.

mod fit_cache;
mod inline;
mod root;
mod shape;
mod words;

use std::sync::Arc;

use serde_json::Value;

use super::ToolSpec;
pub use fit_cache::FitCache;

/// Who will read the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VendorFamily {
    /// OpenAI itself, without strict mode.
    OpenAi,
    /// Whoever speaks as OpenAI does: llama-server, Ollama, vLLM, OpenRouter.
    Compatible,
    /// Anthropic.
    Anthropic,
    /// Gemini.
    Gemini,
}

/// Deepest nesting of a schema. What is deeper is said to be any JSON.
pub const MAX_DEPTH: usize = 12;

/// Longest schema, in bytes.
pub const MAX_SCHEMA: usize = 64 * 1024;

/// Longest description of a tool, in bytes. OpenAI refused more than 1,024 characters until 2025 and takes more since.
pub const MAX_DESCRIPTION: usize = 16 * 1024;

/// What a family takes.
struct FamilyLimits {
    /// Most tools in a request.
    tools: usize,
    /// Longest name of a tool.
    name: usize,
    /// What is put before a name that begins with neither a letter nor `_`, where a name has to.
    prefix: Option<&'static str>,
    /// Characters in the names of properties beside letters and digits, and how many in all; None for any.
    property: Option<(&'static str, usize)>,
    /// What must not stand at the top.
    not_at_root: &'static [&'static str],
    keywords: AllowedKeywords,
}

/// Which keywords of JSON Schema a family takes.
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
            // llama.cpp makes a grammar of the schema: it fails on a pattern without both anchors and on what it does not
            // know. OpenRouter and others hand on to OpenAI, so its rules hold as well.
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
            // '^[a-zA-Z0-9_.-]{1,64}$'". The most tools are not documented; this is what others were seen to use.
            Self::Anthropic => FamilyLimits {
                tools: 256,
                name: 128,
                prefix: None,
                property: Some(("_.-", 64)),
                not_at_root: &["oneOf", "anyOf", "allOf"],
                keywords: AllowedKeywords::All,
            },
            // What both of its fields take: the older one, a part of OpenAPI, and `parametersJsonSchema`.
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

/// What became of a tool.
#[derive(Debug, Clone, PartialEq)]
pub enum FitResult {
    /// It can be sent so; and what is now said in words, each with where.
    Sent(Arc<ToolSpec>, Vec<String>),
    /// It cannot be sent, and why.
    LeftOut(String),
}

/// Makes a tool fit.
pub fn fit_tool(family: VendorFamily, tool: &ToolSpec) -> FitResult {
    let limits = family.limits();
    if let Some(why) = name_problem(&limits, &tool.name) {
        return FitResult::LeftOut(why);
    }
    let mut moved = Vec::new();
    let schema = inline::inline_references(&tool.schema)
        .and_then(|schema| root::fit_root(&limits, schema, &mut moved))
        .and_then(|(schema, said)| Ok((shape::fit_schema(family, &limits, schema, &mut moved)?, said)));
    let (schema, mut said) = match schema {
        Ok(fitted) => fitted,
        Err(why) => return FitResult::LeftOut(why),
    };
    let (schema, at_root) = shape::take_root_notes(schema);
    said.extend(at_root);
    if let Some(why) = size_problem(&schema) {
        return FitResult::LeftOut(why);
    }
    let description = words::append_notes(&tool.description, &said, MAX_DESCRIPTION);
    FitResult::Sent(Arc::new(ToolSpec { name: tool.name.clone(), description, schema }), moved)
}

/// What Gemini gets before a name that begins with neither a letter nor `_`.
pub(super) const LETTER_PREFIX: &str = "n__";

/// Whether a name is sent behind [`LETTER_PREFIX`]. So is one that begins with just that, so that it can be undone.
pub(super) fn needs_prefix(name: &str) -> bool {
    name.starts_with(|c: char| !c.is_ascii_alphabetic() && c != '_') || name.starts_with(LETTER_PREFIX)
}

fn name_problem(limits: &FamilyLimits, name: &str) -> Option<String> {
    let room = limits.prefix.filter(|_| needs_prefix(name)).map_or(0, str::len);
    let fits = (1..=limits.name.saturating_sub(room)).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    (!fits).then(|| format!("its name must be 1 to {} letters, digits, _ or -", limits.name))
}

/// Whether a schema can be written out for models at all, references included. A caller who brings one that cannot learns so,
/// instead of not being offered the tool.
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
    /// To be sent.
    pub tools: Vec<Arc<ToolSpec>>,
    /// Left out: the name, and why.
    pub left_out: Vec<(String, String)>,
}

/// Makes tools fit, as many as the family takes. What is left out is in the log, in one line.
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
        tracing::warn!(model, left_out = ?fitted.left_out, "{model} does not get {} tools", fitted.left_out.len());
    }
    fitted
}

#[cfg(test)]
mod tests;
