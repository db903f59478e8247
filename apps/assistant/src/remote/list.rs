//! Reads the platform's tool listing of a user and prepares it for a turn.

use std::{collections::HashMap, sync::Arc};

use serde::Deserialize;
use serde_json::{Value, json};
use toolyard_agent::{
    model::ToolSpec,
    shortlist::phrases_of,
    tools::{IndexedTools, ToolDisplay, ToolLocation, ToolView, TurnTool},
};
use toolyard_app_sdk::PackageName;
use toolyard_protocol::{
    ToolName,
    api::{HiddenKind, HiddenTool},
    tool::{ActivationPhrases, ToolExtensions},
};

use crate::{listener::normalized, localization::primary_subtag};

/// Most hidden tools that are described to a model.
const MAX_HIDDEN: usize = 16;
/// Most activation phrases in a description.
const MAX_HINTS: usize = 6;

#[derive(Deserialize)]
struct UserToolsBody {
    tools: Vec<ToolListEntry>,
    #[serde(default)]
    hidden: Vec<HiddenTool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolListEntry {
    name: ToolName,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: String,
    input_schema: Value,
    #[serde(default)]
    annotations: AnnotationHints,
    #[serde(default)]
    mentra_extensions: Option<ToolExtensions>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AnnotationHints {
    title: Option<String>,
}

/// What to do before a tool runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolRunPolicy {
    /// Nothing; the platform decides whether the user has to approve the call.
    Run,
    /// Do not run it, and explain why.
    Refuse(String),
}

/// The tools of one user, in one language.
#[derive(Debug)]
pub struct UserTools {
    /// The view for a turn.
    pub view: Arc<ToolView>,
    own: Arc<IndexedTools>,
    policies: HashMap<String, ToolRunPolicy>,
    /// The number of tools, without the assistant's own.
    pub count: usize,
    /// Hidden tools with the reason, for the model.
    pub hidden: Vec<(String, String)>,
}

impl UserTools {
    /// Parses a listing. Phrases in other languages are used only for the shortlist.
    pub fn parse_listing(body: &[u8], language: &str, own: &PackageName) -> Result<Self, serde_json::Error> {
        let body: UserToolsBody = serde_json::from_slice(body)?;
        let count = body.tools.iter().filter(|tool| tool.name.package() != own).count();
        let mut care = HashMap::new();
        let mut offered = Vec::with_capacity(body.tools.len());
        for tool in body.tools {
            let alias = tool.name.alias().as_str().to_owned();
            care.insert(alias.clone(), ToolRunPolicy::Run);
            offered.push(Arc::new(tool.into_offered(alias, language)));
        }
        let by_hardware = |hidden: &&HiddenTool| hidden.kind == HiddenKind::Hardware;
        let hidden: Vec<_> = body.hidden.iter().filter(by_hardware).take(MAX_HIDDEN).collect();
        for tool in &hidden {
            let alias = tool.name.alias().as_str().to_owned();
            care.insert(alias.clone(), ToolRunPolicy::Refuse(tool.reason.clone()));
            offered.push(Arc::new(unavailable_tool(tool, alias)));
        }
        let own = Arc::new(IndexedTools::new(offered, None));
        let hidden =
            hidden.iter().map(|tool| (humanize_name(tool.name.local_name()), tool.reason.clone())).collect();
        Ok(Self { view: Arc::new(ToolView::with_all(own.clone())), own, policies: care, count, hidden })
    }

    /// What to do before this tool runs.
    pub fn run_policy(&self, alias: &str) -> ToolRunPolicy {
        self.policies.get(alias).cloned().unwrap_or(ToolRunPolicy::Run)
    }

    /// The only tool with exactly this activation phrase and without required arguments.
    pub fn find_by_phrase(&self, text: &str, language: &str) -> Option<&Arc<TurnTool>> {
        let said = normalized::comparison_key(text);
        let speaks = |tag: &Option<String>| tag.as_deref().is_none_or(|tag| primary_subtag(tag) == language);
        let mut fits = self.own.tools().iter().filter(|tool| {
            let named = tool
                .phrases
                .iter()
                .any(|(phrase, tag)| speaks(tag) && normalized::comparison_key(phrase) == said);
            named && !said.is_empty() && needs_nothing(&tool.spec.schema)
        });
        fits.next().filter(|_| fits.next().is_none())
    }
}

fn needs_nothing(schema: &Value) -> bool {
    schema.get("required").and_then(Value::as_array).is_none_or(Vec::is_empty)
}

impl ToolListEntry {
    fn into_offered(self, alias: String, language: &str) -> TurnTool {
        let title = self.title.or(self.annotations.title);
        let phrases = self.mentra_extensions.and_then(|extensions| extensions.activation_phrases);
        let description = match self.description.as_str() {
            "" => title.clone().unwrap_or_else(|| humanize_name(self.name.local_name())),
            text => text.to_owned(),
        };
        let spec = ToolSpec {
            name: alias,
            description: with_hints(description, phrases.as_ref(), language),
            schema: self.input_schema,
        };
        let about = ToolDisplay {
            name: self.name.to_string(),
            title: Some(title.unwrap_or_else(|| humanize_name(self.name.local_name()))),
            app: Some(app_name(self.name.package())),
            icon: None,
        };
        let phrases = phrases.as_ref().map(phrases_of).unwrap_or_default();
        let phrases = phrases.into_iter().map(|(text, tag)| (text.to_owned(), tag.map(str::to_owned)));
        TurnTool { spec: Arc::new(spec), place: ToolLocation::Here, about, phrases: phrases.collect() }
    }
}

/// Adds the activation phrases of the user's language to the description, so that the model chooses the tool for them.
fn with_hints(description: String, phrases: Option<&ActivationPhrases>, language: &str) -> String {
    let all = phrases.map(phrases_of).unwrap_or_default();
    let speaks = |(_, tag): &&(&str, Option<&str>)| tag.is_none_or(|tag| primary_subtag(tag) == language);
    let hints: Vec<String> =
        all.iter().filter(speaks).take(MAX_HINTS).map(|(text, _)| format!("\"{text}\"")).collect();
    if hints.is_empty() {
        return description;
    }
    format!("{description}\nUse this tool when the user says something like {}.", hints.join(", "))
}

/// A placeholder for a tool that these glasses cannot run: if the model calls it, the user learns why.
fn unavailable_tool(tool: &HiddenTool, alias: String) -> TurnTool {
    let title = humanize_name(tool.name.local_name());
    let description = format!("{title}. It cannot run on these glasses: it {}.", tool.reason);
    let spec = ToolSpec { name: alias, description, schema: json!({ "type": "object" }) };
    let about = ToolDisplay {
        name: tool.name.to_string(),
        title: Some(title),
        app: Some(app_name(tool.name.package())),
        icon: None,
    };
    TurnTool { spec: Arc::new(spec), place: ToolLocation::Here, about, phrases: Vec::new() }
}

/// A tool name for people: `take_photo` becomes `Take photo`.
fn humanize_name(name: &str) -> String {
    let words = name.replace(['_', '-', '.'], " ");
    let mut letters = words.trim().chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The app's name, from the last part of its package because listings have no app names: `com.example.todo` becomes `Todo`.
fn app_name(package: &PackageName) -> String {
    humanize_name(package.as_str().rsplit('.').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(language: &str) -> UserTools {
        let tool = |name: &str, more: Value| {
            let mut tool =
                json!({ "name": name, "description": "Does it", "inputSchema": { "type": "object" } });
            tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            tool
        };
        let phrases = json!({ "activationPhrases": { "en": ["show my list"], "de": ["zeig meine Liste"] } });
        let body = json!({
            "tools": [
                tool("com.example.todo:show", json!({ "mentraExtensions": phrases })),
                tool("com.example.todo:wipe", json!({ "annotations": { "destructiveHint": true }, "title": "Wipe all" })),
                tool("com.example.todo:add", json!({ "annotations": { "destructiveHint": false },
                    "inputSchema": { "type": "object", "required": ["item"] },
                    "mentraExtensions": { "activationPhrases": ["add something", "show my list twice"] } })),
                tool("com.own:forget", json!({})),
            ],
            "hidden": [
                { "name": "com.example.camera:take_photo", "kind": "hardware", "reason": "needs a camera; Even Realities G1 has none" },
                { "name": "com.example.todo:off", "kind": "switched-off", "reason": "switched off by the user" },
            ],
        });
        UserTools::parse_listing(body.to_string().as_bytes(), language, &"com.own".parse().unwrap()).unwrap()
    }

    #[test]
    fn phrases_of_the_users_language_become_hints() {
        let description =
            |language| read(language).view.find("com_example_todo__show").unwrap().spec.description.clone();
        assert_eq!(
            description("en"),
            "Does it\nUse this tool when the user says something like \"show my list\"."
        );
        assert!(
            description("de").contains("\"zeig meine Liste\"") && !description("de").contains("show my list")
        );
        assert_eq!(description("fr"), "Does it");
    }

    #[test]
    fn tools_that_the_device_cannot_run_are_refused_with_the_reason() {
        let tools = read("en");
        assert_eq!(tools.run_policy("com_example_todo__wipe"), ToolRunPolicy::Run);
        let reason = "needs a camera; Even Realities G1 has none".to_owned();
        assert_eq!(tools.run_policy("com_example_camera__take_photo"), ToolRunPolicy::Refuse(reason));
        assert!(tools.view.find("com_example_todo__off").is_none(), "what the user hides is not mentioned");
        assert_eq!((tools.count, tools.hidden.len()), (3, 1));
    }

    #[test]
    fn names_are_for_people() {
        let about = |alias: &str| read("en").view.find(alias).unwrap().about.clone();
        assert_eq!(about("com_example_todo__wipe").title.as_deref(), Some("Wipe all"));
        assert_eq!(about("com_example_camera__take_photo").title.as_deref(), Some("Take photo"));
        assert_eq!(about("com_example_todo__add").app.as_deref(), Some("Todo"));
    }

    #[test]
    fn an_exact_phrase_means_one_tool_that_needs_nothing() {
        let tools = read("de");
        assert_eq!(
            tools.find_by_phrase("Zeig meine Liste!", "de").unwrap().about.name,
            "com.example.todo:show"
        );
        assert!(tools.find_by_phrase("zeig meine Liste bitte", "de").is_none());
        assert!(tools.find_by_phrase("show my list", "de").is_none(), "another language");
        assert!(tools.find_by_phrase("add something", "de").is_none(), "it needs an item");
        assert!(tools.find_by_phrase("", "de").is_none());
    }

    #[test]
    fn a_listing_of_an_older_server_has_no_kinds_of_reasons() {
        let body = json!({ "tools": [], "hidden": [{ "name": "com.ex:a", "reason": "needs a camera" }] });
        let tools =
            UserTools::parse_listing(body.to_string().as_bytes(), "en", &"com.own".parse().unwrap()).unwrap();
        assert!(tools.hidden.is_empty(), "the reason may be the user's choice, so it is not mentioned");
    }

    #[test]
    fn an_invalid_listing_is_an_error() {
        assert!(UserTools::parse_listing(b"{}", "en", &"com.own".parse().unwrap()).is_err());
        assert!(UserTools::parse_listing(b"<html>", "en", &"com.own".parse().unwrap()).is_err());
    }
}
