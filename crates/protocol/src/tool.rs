//! Tool definitions: an MCP definition plus our extensions.
//!
//! A definition is parsed once, when it is registered, and stored as received. Only its shape is checked here; core
//! compiles its schemas.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::{
    name::{LocalName, ToolName},
    problem::Problem,
    raw::{RawFields, to_raw},
    visible::{CleanedJson, strip_invisible_json},
};

/// Maximum number of tools in one app.
pub const MAX_TOOLS: usize = 1_000;
/// Largest definition of one tool, in bytes of JSON.
pub const MAX_DEFINITION_BYTES: usize = 64 * 1024;
/// Longest description, in bytes.
pub const MAX_DESCRIPTION_BYTES: usize = 8 * 1024;
/// Maximum number of activation phrases of one tool, over all languages.
pub const MAX_PHRASES: usize = 128;
/// Longest activation phrase, in bytes.
pub const MAX_PHRASE_BYTES: usize = 200;
/// Members of `_meta` that name a user interface, in addition to `ui.resourceUri`.
const UI_URIS: [&str; 2] = ["ui/resourceUri", "openai/outputTemplate"];
/// Maximum number of problems in one response.
pub const MAX_PROBLEMS: usize = 100;

/// The category of a tool.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Category {
    Productivity,
    Media,
    Communication,
    Utility,
    #[default]
    Other,
}

impl Category {
    /// Every category.
    pub const ALL: [Self; 5] =
        [Self::Productivity, Self::Media, Self::Communication, Self::Utility, Self::Other];
}

impl std::str::FromStr for Category {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        serde_json::from_value(Value::String(text.to_owned())).map_err(|_| {
            format!("`{text}` is not a category: productivity, media, communication, utility or other")
        })
    }
}

/// Phrases that suggest the tool to an assistant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum ActivationPhrases {
    /// One list for all languages.
    Plain(Vec<String>),
    /// A list per language tag (`en`, `de-AT`).
    ByLanguage(BTreeMap<String, Vec<String>>),
}

impl ActivationPhrases {
    /// Every phrase.
    pub fn phrases(&self) -> impl Iterator<Item = &str> {
        let (plain, by_language) = match self {
            Self::Plain(list) => (Some(list), None),
            Self::ByLanguage(map) => (None, Some(map)),
        };
        plain
            .into_iter()
            .chain(by_language.into_iter().flat_map(BTreeMap::values))
            .flatten()
            .map(String::as_str)
    }
}

/// `mentraExtensions` of a definition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolExtensions {
    /// Phrases that suggest the tool to an assistant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation_phrases: Option<ActivationPhrases>,
    /// The category of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
}

/// The hints of a definition that the platform uses. Untrusted: they can only add caution or allow a retry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolAnnotations {
    /// The tool changes nothing.
    pub read_only_hint: bool,
    /// Running it twice has the same effect as once.
    pub idempotent_hint: bool,
}

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

/// The name of a tool or a prompt; `what` says which.
pub(crate) fn read_name(
    fields: &RawFields,
    path: &str,
    what: &str,
    problems: &mut Vec<Problem>,
) -> Option<LocalName> {
    let name = match fields.parse_field::<String>("name") {
        Some(Ok(text)) => text.parse::<LocalName>().map_err(|error| error.to_string()),
        Some(Err(_)) => Err("expected a text".to_owned()),
        None => Err(format!("missing; each {what} needs a name")),
    };
    match name {
        Ok(name) if name.as_str().contains(':') => {
            let message = format!("a colon separates package and {what}, so a {what}'s name has none");
            problems.push(Problem::new(path, message));
            None
        }
        Ok(name) => Some(name),
        Err(message) => {
            problems.push(Problem::new(path, message));
            None
        }
    }
}

pub(crate) fn read_text(
    fields: &RawFields,
    member: &str,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Option<String> {
    match fields.parse_field::<Option<String>>(member)? {
        Ok(text) => text,
        Err(_) => {
            problems.push(Problem::new(format!("{path}.{member}"), "expected a text"));
            None
        }
    }
}

fn read_schema(fields: &RawFields, member: &str, path: &str, problems: &mut Vec<Problem>) -> Option<Value> {
    match fields.parse_field::<Value>(member)? {
        Ok(schema @ Value::Object(_)) => Some(schema),
        Ok(_) | Err(_) => {
            problems.push(Problem::new(format!("{path}.{member}"), "expected a JSON Schema object"));
            None
        }
    }
}

fn check_input_root(schema: Option<&Value>, path: &str, problems: &mut Vec<Problem>) {
    match schema {
        None if problems.iter().any(|p| p.path == path) => {}
        None => {
            problems.push(Problem::new(path, r#"missing; a tool without arguments has {"type":"object"}"#))
        }
        Some(schema) if schema.get("type").and_then(Value::as_str) != Some("object") => {
            problems.push(Problem::new(format!("{path}.type"), "expected \"object\": arguments are named"));
        }
        Some(_) => {}
    }
}

fn read_extensions(fields: &RawFields, path: &str, problems: &mut Vec<Problem>) -> ToolExtensions {
    let Some(raw) = fields.parse_field::<RawFields>("mentraExtensions") else {
        return ToolExtensions::default();
    };
    let Ok(raw) = raw else {
        problems.push(Problem::new(path, "expected an object"));
        return ToolExtensions::default();
    };
    let category = match raw.parse_field::<Option<Category>>("category") {
        Some(Ok(category)) => category,
        Some(Err(_)) => {
            let expected = "expected productivity, media, communication, utility or other";
            problems.push(Problem::new(format!("{path}.category"), expected));
            None
        }
        None => None,
    };
    let phrases_path = format!("{path}.activationPhrases");
    let activation_phrases = match raw.parse_field::<Option<ActivationPhrases>>("activationPhrases") {
        Some(Ok(phrases)) => phrases,
        Some(Err(_)) => {
            problems
                .push(Problem::new(&phrases_path, "expected a list of texts, or one list per language tag"));
            None
        }
        None => None,
    };
    if let Some(phrases) = &activation_phrases {
        if phrases.phrases().count() > MAX_PHRASES {
            problems.push(Problem::new(&phrases_path, format!("more than {MAX_PHRASES} phrases")));
        } else if phrases.phrases().any(|phrase| phrase.len() > MAX_PHRASE_BYTES) {
            problems.push(Problem::new(
                &phrases_path,
                format!("a phrase is longer than {MAX_PHRASE_BYTES} bytes"),
            ));
        }
    }
    ToolExtensions { activation_phrases, category }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(tool: &Value) -> Result<ToolDefinition, Vec<Problem>> {
        ToolDefinition::parse(&to_raw(tool), "tools[0]")
    }

    fn paths(result: Result<ToolDefinition, Vec<Problem>>) -> Vec<String> {
        result.unwrap_err().into_iter().map(|p| p.path).collect()
    }

    #[test]
    fn mcp_clients_see_alias_canonical_name_and_mapped_pages() {
        let text = r#"{"name":"a","inputSchema":{"type":"object"},"execution":{"x" :1},"_meta":{"k":1,"ui":{"resourceUri":"ui://w","v":2},"openai/outputTemplate":"ui://w"}}"#;
        let tool = ToolDefinition::parse(&serde_json::from_str::<Box<RawValue>>(text).unwrap(), "t").unwrap();
        let listed = tool.listed_for_mcp(&"mcp.x:a".parse().unwrap(), |uri| Some(format!("{uri}!")));
        assert_eq!(
            listed.get(),
            r#"{"name":"mcp_x__a","inputSchema":{"type":"object"},"execution":{"x" :1},"_meta":{"toolyard/name":"mcp.x:a","k":1,"ui":{"resourceUri":"ui://w!","v":2},"openai/outputTemplate":"ui://w!"}}"#
        );
        let tool = tool.with_name("b".parse().unwrap()).with_category(Category::Media);
        assert!(tool.to_raw().get().starts_with(r#"{"mentraExtensions":{"category":"media"},"name":"b""#));
        assert_eq!(tool.with_category(Category::Utility).category(), Category::Media);
    }

    #[test]
    fn keeps_what_it_does_not_know_as_it_came() {
        let text = r#"{"name":"a","x-new":{"n":1.0},"inputSchema":{"type":"object","$comment":"hm"},"_meta":{"k":[1, 2]}}"#;
        let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
        let tool = ToolDefinition::parse(&raw, "tool").unwrap();
        assert_eq!(tool.to_raw().get(), text);
        let name = "com.ex:a".parse().unwrap();
        assert_eq!(tool.listed_as(&name).get(), text.replacen(r#""a""#, r#""com.ex:a""#, 1));
    }

    #[test]
    fn invisible_characters_do_not_reach_a_model() {
        let text = r#"{"name":"a","title":"T\u202e","description":"Adds\udb40\udc41 one","inputSchema":{"type":"object","properties":{"k":{"enum":["x\u200b"],"description":"\u2066d"}}}}"#;
        let tool = ToolDefinition::parse(&serde_json::from_str::<Box<RawValue>>(text).unwrap(), "t").unwrap();
        assert_eq!((tool.invisible_chars, tool.description.as_str()), (4, "Adds one"));
        assert_eq!(
            tool.to_raw().get(),
            r#"{"name":"a","title":"T","description":"Adds one","inputSchema":{"type":"object","properties":{"k":{"enum":["x"],"description":"d"}}}}"#
        );
        assert_eq!(tool.input_schema()["properties"]["k"]["enum"][0], "x");
        let tool =
            json!({ "name": "a", "inputSchema": { "type": "object", "properties": { "a\u{200b}": {} } } });
        assert!(read(&tool).unwrap_err()[0].message.contains("`a` in it has invisible"));
    }

    #[test]
    fn names_every_problem_at_once() {
        let tool = json!({
            "name": "a:b", "description": 3, "title": [], "outputSchema": true,
            "inputSchema": { "type": "array" },
            "mentraExtensions": { "category": "fun", "activationPhrases": "x" },
        });
        assert_eq!(
            paths(read(&tool)),
            [
                "tools[0].name",
                "tools[0].description",
                "tools[0].title",
                "tools[0].outputSchema",
                "tools[0].inputSchema.type",
                "tools[0].mentraExtensions.category",
                "tools[0].mentraExtensions.activationPhrases",
            ]
        );
    }

    #[test]
    fn the_least_that_is_a_tool() {
        assert_eq!(paths(read(&json!({}))), ["tools[0].name", "tools[0].inputSchema"]);
        assert_eq!(paths(read(&json!("x"))), ["tools[0]"]);
        assert!(read(&json!({ "name": "a", "inputSchema": { "type": "object" } })).is_ok());
    }

    #[test]
    fn phrases_come_plain_or_by_language() {
        let mut tool = json!({ "name": "a", "inputSchema": { "type": "object" },
            "mentraExtensions": { "activationPhrases": ["remind me"] } });
        assert_eq!(read(&tool).unwrap().extensions.activation_phrases.unwrap().phrases().count(), 1);
        tool["mentraExtensions"]["activationPhrases"] =
            json!({ "en": ["remind me"], "de": ["erinnere mich"] });
        assert_eq!(read(&tool).unwrap().extensions.activation_phrases.unwrap().phrases().count(), 2);
    }

    #[test]
    fn every_bound_is_kept() {
        let base = json!({ "name": "a", "inputSchema": { "type": "object" } });
        let with = |key: &str, value: Value| {
            let mut tool = base.clone();
            tool[key] = value;
            tool
        };
        let long = with("description", "x".repeat(MAX_DESCRIPTION_BYTES + 1).into());
        assert_eq!(paths(read(&long)), ["tools[0].description"]);
        let huge = with("_meta", json!({ "x": "x".repeat(MAX_DEFINITION_BYTES) }));
        assert_eq!(paths(read(&huge)), ["tools[0]"]);
        let many = with("mentraExtensions", json!({ "activationPhrases": vec!["x"; MAX_PHRASES + 1] }));
        assert_eq!(paths(read(&many)), ["tools[0].mentraExtensions.activationPhrases"]);
        let wide =
            with("mentraExtensions", json!({ "activationPhrases": ["x".repeat(MAX_PHRASE_BYTES + 1)] }));
        assert_eq!(paths(read(&wide)), ["tools[0].mentraExtensions.activationPhrases"]);
        let set = vec![to_raw(&base); MAX_TOOLS + 1];
        assert_eq!(ToolDefinition::parse_set(&set).unwrap_err()[0].path, "tools");
        let bad = vec![to_raw(&json!({})); MAX_TOOLS];
        assert_eq!(ToolDefinition::parse_set(&bad).unwrap_err().len(), MAX_PROBLEMS);
    }

    #[test]
    fn a_set_has_each_name_once() {
        let tool = to_raw(&json!({ "name": "a", "inputSchema": { "type": "object" } }));
        let problems = ToolDefinition::parse_set(&[tool.clone(), tool]).unwrap_err();
        assert_eq!(problems[0].to_string(), "tools[1].name: `a` is defined twice");
    }
}
