//! A prompt: a text template that a user picks and the app fills in.

use std::{fmt, fmt::Display, future::Future, sync::Arc};

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};
use toolyard_protocol::{Problem, items::ItemKind, raw::to_raw};
use toolyard_typed_tool::{ErasedFunction, InvalidArguments, arguments_schema, erase_typed};

use super::{InvalidItem, PromptReply, check_definition};
use crate::tool::{CallFailure, ToolContext};

type PromptHandler = ErasedFunction<ToolContext, Result<Box<RawValue>, CallFailure>>;

/// A prompt that is ready to be added to an app. Cheap to clone.
#[derive(Clone)]
pub struct Prompt {
    name: Arc<str>,
    definition: Arc<RawValue>,
    pub(crate) get: PromptHandler,
}

impl Prompt {
    /// The name inside the app.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The definition, as the platform sees it.
    pub fn definition(&self) -> &RawValue {
        &self.definition
    }
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// Creates a prompt. Its arguments are a type with text fields: `String`, `Option<String>`, or an enum of strings, because MCP
/// clients send nothing else. Doc comments on the fields become the descriptions that the user reads. A field that is not an
/// `Option` is required.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use toolyard_app_sdk::{ToolContext, create_prompt};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Trip {
///     /// Where to
///     city: String,
/// }
///
/// let prompt = create_prompt("plan_trip", "Plans a trip.", |trip: Trip, _cx: ToolContext| async move {
///     Ok::<_, std::convert::Infallible>(format!("Plan a weekend in {}.", trip.city))
/// })
/// .title("Plan a trip")
/// .build()?;
/// # Ok::<(), toolyard_app_sdk::InvalidItem>(())
/// ```
pub fn create_prompt<A, F, Fut, R, E>(
    name: impl Into<String>,
    description: impl Into<String>,
    handler: F,
) -> PromptBuilder
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, E>> + Send + 'static,
    R: Into<PromptReply>,
    E: Display,
{
    let finish =
        |given: Result<R, E>| given.map(|reply| to_raw(&reply.into())).map_err(CallFailure::from_handler);
    let refuse = |invalid: InvalidArguments| Err(CallFailure::invalid_arguments(invalid.to_string()));
    let get: PromptHandler = erase_typed(handler, finish, refuse);
    let mut problems = Vec::new();
    let arguments = arguments_of(&arguments_schema::<A>(), &mut problems);
    let written =
        PromptDefinition { name: name.into(), title: None, description: description.into(), arguments };
    PromptBuilder { written, problems, get }
}

/// Builds a [`Prompt`].
#[must_use = "call `build` and add the prompt to the app"]
pub struct PromptBuilder {
    written: PromptDefinition,
    problems: Vec<Problem>,
    get: PromptHandler,
}

#[derive(Serialize)]
struct PromptDefinition {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    description: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    arguments: Vec<PromptArgument>,
}

#[derive(Serialize)]
struct PromptArgument {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    required: bool,
}

impl PromptBuilder {
    /// Sets the display name.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.written.title = Some(title.into());
        self
    }

    /// Checks and builds the prompt: the name has no colon, arguments are texts, and all limits are met.
    pub fn build(self) -> Result<Prompt, InvalidItem> {
        let name = self.written.name.as_str();
        let definition = check_definition(ItemKind::Prompt, name, to_raw(&self.written), self.problems)?;
        Ok(Prompt { name: name.into(), definition: definition.into(), get: self.get })
    }
}

fn arguments_of(schema: &Value, problems: &mut Vec<Problem>) -> Vec<PromptArgument> {
    if schema["type"] != "object" {
        problems.push(Problem::new("prompt.arguments", "expected a struct: arguments are named"));
        return Vec::new();
    }
    let required =
        |name: &str| schema["required"].as_array().is_some_and(|list| list.iter().any(|r| r == name));
    let properties = schema["properties"].as_object().into_iter().flatten();
    let argument = |(name, about): (&String, &Value)| {
        if !is_text(about) {
            let message = "expected a text: clients send the arguments of a prompt as texts";
            problems.push(Problem::new(format!("prompt.arguments.{name}"), message));
        }
        let description = about["description"].as_str().map(str::to_owned);
        PromptArgument { name: name.clone(), description, required: required(name) }
    };
    properties.map(argument).collect()
}

/// Whether the schema accepts only strings and null.
fn is_text(schema: &Value) -> bool {
    let word = |kind: &Value| kind == "string" || kind == "null";
    match (&schema["type"], schema["anyOf"].as_array().or(schema["oneOf"].as_array())) {
        (Value::Array(kinds), _) => kinds.iter().all(word),
        (Value::Null, Some(choices)) => choices.iter().all(is_text),
        (Value::Null, None) => schema["const"].is_string(),
        (kind, _) => word(kind),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::NoArguments;

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Plan {
        /// Which day
        day: String,
        mood: Option<Mood>,
        note: Option<String>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Mood {
        /// Slowly
        Calm,
        Busy,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Wrong {
        count: u32,
        list: Vec<String>,
    }

    fn prompt<A: DeserializeOwned + JsonSchema + Send + 'static>(name: &str) -> PromptBuilder {
        create_prompt(name, "Does it.", |_: A, _: ToolContext| async { Ok::<_, &str>("go") })
    }

    #[test]
    fn the_type_becomes_the_list_of_arguments() {
        let built = prompt::<Plan>("plan_day").title("Plan").build().unwrap();
        assert_eq!(
            built.definition().get(),
            concat!(
                r#"{"name":"plan_day","title":"Plan","description":"Does it.","arguments":["#,
                r#"{"name":"day","description":"Which day","required":true},{"name":"mood","required":false},"#,
                r#"{"name":"note","required":false}]}"#
            )
        );
        let none = prompt::<NoArguments>("now").build().unwrap();
        assert_eq!(none.definition().get(), r#"{"name":"now","description":"Does it."}"#);
    }

    #[test]
    fn arguments_that_are_not_text_are_refused() {
        let error = prompt::<Wrong>("a:b").build().unwrap_err();
        let places: Vec<_> = error.problems.iter().map(|problem| problem.path.as_str()).collect();
        assert_eq!(places, ["prompt.arguments.count", "prompt.arguments.list", "prompt.name"]);
        assert!(error.to_string().starts_with("the prompt `a:b` cannot be built: "), "{error}");
        assert_eq!(prompt::<String>("a").build().unwrap_err().problems[0].path, "prompt.arguments");
    }
}
