//! One definition: parsing, and the forms in which it is listed.

use std::collections::HashSet;

use serde_json::{Value, value::RawValue};

use super::{
    Category, MAX_DEFINITION_BYTES, MAX_DESCRIPTION_BYTES, MAX_PROBLEMS, MAX_TOOLS, ToolAnnotations,
    ToolExtensions,
    fields::{check_input_root, read_extensions, read_name, read_schema, read_text},
};
use crate::{
    name::{LocalName, ToolName},
    problem::Problem,
    raw::{RawFields, to_raw},
    visible::{CleanedJson, strip_invisible_json},
};

/// Members of `_meta` that name a user interface, in addition to `ui.resourceUri`.
const UI_URIS: [&str; 2] = ["ui/resourceUri", "openai/outputTemplate"];

/// MCP's hints about the effects of a tool.
const EFFECT_HINTS: [&str; 4] = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

/// One tool definition with a valid shape, stored as received.
#[derive(Debug, Clone)]
pub struct ToolDefinition {
    /// Name inside the app.
    pub name: LocalName,
    /// Human-readable title.
    pub title: Option<String>,
    /// For the model.
    pub description: String,
    /// Whether it has an output schema.
    pub has_output_schema: bool,
    /// Hints on side effects.
    pub annotations: ToolAnnotations,
    /// Our extensions.
    pub extensions: ToolExtensions,
    /// Number of invisible characters removed from its texts.
    pub invisible_chars: usize,
    fields: RawFields,
}

impl ToolDefinition {
    /// Parses one definition and reports every problem, each under `path`.
    pub fn parse(raw: &RawValue, path: &str) -> Result<Self, Vec<Problem>> {
        let at = |member: &str| format!("{path}.{member}");
        if raw.get().len() > MAX_DEFINITION_BYTES {
            return Err(vec![Problem::new(path, format!("larger than {MAX_DEFINITION_BYTES} bytes"))]);
        }
        let CleanedJson { cleaned, removed, bad_name } = strip_invisible_json(raw);
        let raw = cleaned.as_deref().unwrap_or(raw);
        let fields: RawFields = match serde_json::from_str(raw.get()) {
            Ok(fields) => fields,
            Err(_) => return Err(vec![Problem::new(path, "expected an object that defines a tool")]),
        };
        let mut problems = Vec::new();
        if let Some(name) = bad_name {
            let name = crate::name::text_excerpt(&name);
            problems.push(Problem::new(path, format!("the name `{name}` in it has invisible characters")));
        }
        let name = read_name(&fields, &at("name"), "tool", &mut problems);
        let description = read_text(&fields, "description", path, &mut problems).unwrap_or_default();
        if description.len() > MAX_DESCRIPTION_BYTES {
            problems
                .push(Problem::new(at("description"), format!("longer than {MAX_DESCRIPTION_BYTES} bytes")));
        }
        let title = read_text(&fields, "title", path, &mut problems);
        let input_schema = read_schema(&fields, "inputSchema", path, &mut problems);
        let output_schema = read_schema(&fields, "outputSchema", path, &mut problems);
        check_input_root(input_schema.as_ref(), &at("inputSchema"), &mut problems);
        let extensions = read_extensions(&fields, &at("mentraExtensions"), &mut problems);
        let annotations = fields.parse_field("annotations").and_then(Result::ok).unwrap_or_default();
        match (name, input_schema) {
            (Some(name), Some(_)) if problems.is_empty() => Ok(Self {
                name,
                title,
                description,
                has_output_schema: output_schema.is_some(),
                annotations,
                extensions,
                invisible_chars: removed,
                fields,
            }),
            _ => Err(problems),
        }
    }

    /// Parses a whole set and reports every problem at once, up to a limit.
    pub fn parse_set(tools: &[Box<RawValue>]) -> Result<Vec<Self>, Vec<Problem>> {
        if tools.len() > MAX_TOOLS {
            return Err(vec![Problem::new("tools", format!("{} tools; at most {MAX_TOOLS}", tools.len()))]);
        }
        let (mut read, mut problems, mut names) =
            (Vec::with_capacity(tools.len()), Vec::new(), HashSet::new());
        for (index, raw) in tools.iter().enumerate() {
            match Self::parse(raw, &format!("tools[{index}]")) {
                Ok(tool) if !names.insert(tool.name.clone()) => {
                    let message = format!("`{}` is defined twice", tool.name);
                    problems.push(Problem::new(format!("tools[{index}].name"), message));
                }
                Ok(tool) => read.push(tool),
                Err(found) => problems.extend(found),
            }
        }
        problems.truncate(MAX_PROBLEMS);
        if problems.is_empty() { Ok(read) } else { Err(problems) }
    }

    /// JSON Schema of the arguments; its root is `type: object`. Parsed on every call: a parsed schema takes many times
    /// the memory of its text.
    pub fn input_schema(&self) -> Value {
        self.fields.parse_field("inputSchema").and_then(Result::ok).unwrap_or_default()
    }

    /// JSON Schema of the structured result.
    pub fn output_schema(&self) -> Option<Value> {
        self.fields.parse_field("outputSchema").and_then(Result::ok).filter(|_| self.has_output_schema)
    }

    /// Whether the definition has at least one of MCP's hints, so that its developer thought about its effects.
    pub fn declares_effects(&self) -> bool {
        EFFECT_HINTS.into_iter().any(|hint| self.declares_hint(hint))
    }

    /// Whether the definition itself says that the tool changes something. A missing hint says nothing.
    pub fn declares_write(&self) -> bool {
        !self.annotations.read_only_hint && self.declares_hint("readOnlyHint")
    }

    fn declares_hint(&self, hint: &str) -> bool {
        let hints: Option<RawFields> = self.fields.parse_field("annotations").and_then(Result::ok);
        hints.is_some_and(|hints| hints.get(hint).is_some())
    }

    /// The definition as received.
    pub fn to_raw(&self) -> Box<RawValue> {
        self.fields.to_raw()
    }

    /// The definition under its canonical name.
    pub fn listed_as(&self, name: &ToolName) -> Box<RawValue> {
        let mut fields = self.fields.clone();
        fields.set("name", to_raw(name));
        fields.to_raw()
    }

    /// The definition for MCP clients: under its alias, with the canonical name in `_meta`, and with the URIs of its
    /// user interface as they are listed here.
    pub fn listed_for_mcp(&self, name: &ToolName, map_uri: impl Fn(&str) -> Option<String>) -> Box<RawValue> {
        let mut fields = self.fields.clone();
        fields.set("name", to_raw(&name.alias()));
        let mut meta: RawFields = fields.parse_field("_meta").and_then(Result::ok).unwrap_or_default();
        for member in UI_URIS {
            if let Some(uri) =
                meta.parse_field::<String>(member).and_then(Result::ok).and_then(|uri| map_uri(&uri))
            {
                meta.set(member, to_raw(&uri));
            }
        }
        if let Some(Ok(mut ui)) = meta.parse_field::<RawFields>("ui")
            && let Some(uri) =
                ui.parse_field::<String>("resourceUri").and_then(Result::ok).and_then(|uri| map_uri(&uri))
        {
            ui.set("resourceUri", to_raw(&uri));
            meta.set("ui", ui.to_raw());
        }
        meta.set(crate::mcp::meta::CANONICAL_NAME, to_raw(name));
        fields.set("_meta", meta.to_raw());
        fields.to_raw()
    }

    /// The URIs of its user interface.
    pub fn page_uris(&self) -> Vec<String> {
        let meta: RawFields = self.fields.parse_field("_meta").and_then(Result::ok).unwrap_or_default();
        let text =
            |fields: &RawFields, member: &str| fields.parse_field::<String>(member).and_then(Result::ok);
        let mut uris: Vec<String> = UI_URIS.iter().filter_map(|member| text(&meta, member)).collect();
        let ui = meta.parse_field::<RawFields>("ui").and_then(Result::ok);
        uris.extend(ui.and_then(|ui| text(&ui, "resourceUri")));
        uris
    }

    /// The URLs of its icons.
    pub fn icon_urls(&self) -> Vec<String> {
        let icons =
            self.fields.parse_field::<Vec<RawFields>>("icons").and_then(Result::ok).unwrap_or_default();
        icons.iter().filter_map(|icon| icon.parse_field::<String>("src").and_then(Result::ok)).collect()
    }

    /// The same tool under another name.
    #[must_use]
    pub fn with_name(mut self, name: LocalName) -> Self {
        self.fields.set("name", to_raw(&name));
        self.name = name;
        self
    }

    /// Adds a category, if the definition has none.
    #[must_use]
    pub fn with_category(mut self, category: Category) -> Self {
        if self.extensions.category.is_none() {
            self.extensions.category = Some(category);
            let mut extensions: RawFields =
                self.fields.parse_field("mentraExtensions").and_then(Result::ok).unwrap_or_default();
            extensions.set("category", to_raw(&category));
            self.fields.set("mentraExtensions", extensions.to_raw());
        }
        self
    }

    /// Whether the tool declares that running it twice is harmless.
    pub fn is_harmless(&self) -> bool {
        self.annotations.read_only_hint || self.annotations.idempotent_hint
    }

    /// The category of the tool.
    pub fn category(&self) -> Category {
        self.extensions.category.unwrap_or_default()
    }
}
