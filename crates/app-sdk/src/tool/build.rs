//! Builds a tool, with all checks at the end.

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use toolyard_protocol::{
    Problem,
    raw::to_raw,
    tool::{ActivationPhrases, Category, ToolDefinition, ToolExtensions},
};
use toolyard_typed_tool::result_schema;

use super::{AppToolHandler, Tool};

/// Why a tool is invalid, with every problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the tool `{name}` cannot be built: {}", problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; "))]
pub struct InvalidTool {
    /// The name that was given.
    pub name: String,
    /// Every problem that was found.
    pub problems: Vec<Problem>,
}

/// Builds a [`Tool`].
#[must_use = "call `build` and register the tool"]
pub struct ToolBuilder {
    definition: DefinitionBody,
    extensions: ToolExtensions,
    run: AppToolHandler,
}

/// A definition, with its fields in reading order.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DefinitionBody {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    description: String,
    input_schema: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<Value>,
    #[serde(skip_serializing_if = "ToolHints::is_empty")]
    annotations: ToolHints,
    #[serde(skip_serializing_if = "Option::is_none")]
    mentra_extensions: Option<ToolExtensions>,
}

#[derive(Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolHints {
    #[serde(skip_serializing_if = "Option::is_none")]
    read_only_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destructive_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotent_hint: Option<bool>,
}

impl ToolHints {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl ToolBuilder {
    pub(super) fn new(name: String, description: String, input_schema: Value, run: AppToolHandler) -> Self {
        let definition = DefinitionBody {
            name,
            title: None,
            description,
            input_schema,
            output_schema: None,
            annotations: ToolHints::default(),
            mentra_extensions: None,
        };
        Self { definition, extensions: ToolExtensions::default(), run }
    }

    pub(super) fn with_output(mut self, schema: Option<Value>) -> Self {
        self.definition.output_schema = schema;
        self
    }

    /// Sets the display name.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.title = Some(title.into());
        self
    }

    /// Sets the category.
    pub fn category(mut self, category: Category) -> Self {
        self.extensions.category = Some(category);
        self
    }

    /// Sets phrases that suggest the tool to an assistant, in any language.
    pub fn activation_phrases<P: Into<String>>(mut self, phrases: impl IntoIterator<Item = P>) -> Self {
        let phrases = phrases.into_iter().map(Into::into).collect();
        self.extensions.activation_phrases = Some(ActivationPhrases::Plain(phrases));
        self
    }

    /// Sets the phrases for one language (`de`, `de-AT`). Replaces phrases that were set without a language: a definition has
    /// either kind.
    pub fn activation_phrases_in<P: Into<String>>(
        mut self,
        language: impl Into<String>,
        phrases: impl IntoIterator<Item = P>,
    ) -> Self {
        let mut lists = match self.extensions.activation_phrases.take() {
            Some(ActivationPhrases::ByLanguage(lists)) => lists,
            Some(ActivationPhrases::Plain(_)) | None => BTreeMap::new(),
        };
        lists.insert(language.into(), phrases.into_iter().map(Into::into).collect());
        self.extensions.activation_phrases = Some(ActivationPhrases::ByLanguage(lists));
        self
    }

    /// Marks the tool as read-only. A lost call may be retried.
    pub fn read_only(mut self) -> Self {
        self.definition.annotations.read_only_hint = Some(true);
        self
    }

    /// Marks the tool as idempotent: running it twice with the same arguments has the same effect as once. A lost call may be
    /// retried.
    pub fn idempotent(mut self) -> Self {
        self.definition.annotations.idempotent_hint = Some(true);
        self
    }

    /// Marks the tool as destructive. MCP clients assume this by default.
    pub fn destructive(mut self) -> Self {
        self.definition.annotations.destructive_hint = Some(true);
        self
    }

    /// Marks the tool as not destructive: it only adds something.
    pub fn additive(mut self) -> Self {
        self.definition.annotations.destructive_hint = Some(false);
        self
    }

    /// Sets the type of the structured result, for handlers that return a [`ToolReply`](super::ToolReply).
    pub fn output<T: JsonSchema>(self) -> Self {
        self.with_output(Some(result_schema::<T>()))
    }

    /// Checks and builds the tool: the name has no colon, schemas describe objects, and all limits are met.
    pub fn build(mut self) -> Result<Tool, InvalidTool> {
        self.definition.mentra_extensions =
            (self.extensions != ToolExtensions::default()).then_some(self.extensions);
        let mut problems = Vec::new();
        if let Some(output) = &self.definition.output_schema
            && output.get("type").and_then(Value::as_str) != Some("object")
        {
            let message = "expected \"object\": wrap lists and single values into a struct";
            problems.push(Problem::new("tool.outputSchema.type", message));
        }
        match ToolDefinition::parse(&to_raw(&self.definition), "tool") {
            Ok(definition) if problems.is_empty() => {
                return Ok(Tool { definition: Arc::new(definition), run: self.run });
            }
            Ok(_) => {}
            Err(found) => problems.extend(found),
        }
        Err(InvalidTool { name: self.definition.name, problems })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Json, NoArguments, ToolContext, create_dynamic_tool, create_tool};

    fn plain(name: &str) -> ToolBuilder {
        create_tool(name, "Does it.", |_: NoArguments, _: ToolContext| async { Ok::<_, &str>("done") })
    }

    #[test]
    fn the_definition_contains_all_settings() {
        let tool = plain("do_it")
            .title("Do it")
            .category(Category::Utility)
            .activation_phrases(["do it"])
            .read_only()
            .idempotent()
            .additive()
            .build()
            .unwrap();
        assert_eq!(
            tool.definition().to_raw().get(),
            concat!(
                r#"{"name":"do_it","title":"Do it","description":"Does it.","#,
                r#""inputSchema":{"type":"object","description":"No arguments."},"#,
                r#""annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true},"#,
                r#""mentraExtensions":{"activationPhrases":["do it"],"category":"utility"}}"#
            )
        );
    }

    #[test]
    fn phrases_by_language_replace_the_plain_ones() {
        let tool = plain("a")
            .activation_phrases(["x"])
            .activation_phrases_in("en", ["do it"])
            .activation_phrases_in("de", ["mach es"])
            .build()
            .unwrap();
        let written: Value = serde_json::from_str(tool.definition().to_raw().get()).unwrap();
        assert_eq!(
            written["mentraExtensions"]["activationPhrases"],
            json!({ "de": ["mach es"], "en": ["do it"] })
        );
    }

    #[test]
    fn bad_names_are_refused() {
        for name in ["com.example:add", "", "a b", "ä", &"x".repeat(129)] {
            let error = plain(name).build().unwrap_err();
            assert_eq!((error.name.as_str(), error.problems.len()), (name, 1), "{error}");
            assert_eq!(error.problems[0].path, "tool.name");
        }
        let error = plain("a:b").build().unwrap_err().to_string();
        assert!(error.contains("a colon separates package and tool"), "{error}");
    }

    #[test]
    fn schemas_describe_objects() {
        let text = create_tool("a", "", |_: String, _: ToolContext| async { Ok::<_, &str>("") });
        assert_eq!(text.build().unwrap_err().problems[0].path, "tool.inputSchema.type");
        let list =
            create_tool("a", "", |_: NoArguments, _: ToolContext| async { Ok::<_, &str>(Json(vec![1])) });
        assert_eq!(list.build().unwrap_err().problems[0].path, "tool.outputSchema.type");
        let by_hand = create_dynamic_tool("a", "", json!([]), |_, _| async { Ok::<_, &str>("") });
        assert_eq!(by_hand.build().unwrap_err().problems[0].path, "tool.inputSchema");
    }

    #[test]
    fn a_typed_result_has_a_schema() {
        #[derive(Serialize, JsonSchema)]
        struct Sum {
            sum: i64,
        }
        let typed = create_tool("a", "", |_: NoArguments, _: ToolContext| async {
            Ok::<_, &str>(Json(Sum { sum: 3 }))
        });
        let explicit = plain("b").output::<Sum>();
        for tool in [typed.build().unwrap(), explicit.build().unwrap()] {
            let schema = tool.definition().output_schema().unwrap();
            assert_eq!(schema["properties"]["sum"]["type"], "integer");
        }
    }
}
