//! Tools: a definition and the function that answers.
//!
//! [`create_tool`] takes the schema from the function's argument type, [`create_dynamic_tool`] takes one written by hand.
//! Whether arguments fit a hand-written schema is the platform's business: it checks them before it calls.

mod build;
mod context;
mod fallback;
mod outcome;
mod reply;
pub(crate) mod schema;

use std::{fmt, fmt::Display, future::Future, sync::Arc};

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toolyard_protocol::tool::ToolDefinition;

pub use build::{InvalidTool, ToolBuilder};
pub use context::ToolContext;
pub(crate) use context::{CallFacts, progress_channel};
pub use fallback::FallbackCall;
pub(crate) use fallback::FallbackHandler;
pub(crate) use outcome::{CallFailure, CallResponse, HandlerOutcome, ResponseLine};
pub use reply::{IntoToolReply, Json, NoArguments, ToolReply};

/// A handler without its types.
pub(crate) type AppToolHandler =
    Arc<dyn Fn(Map<String, Value>, ToolContext) -> BoxFuture<'static, HandlerOutcome> + Send + Sync>;

/// A tool that is ready to be registered. Cheap to clone.
#[derive(Clone)]
pub struct Tool {
    definition: Arc<ToolDefinition>,
    pub(crate) run: AppToolHandler,
}

impl Tool {
    /// The name inside the app.
    pub fn name(&self) -> &str {
        self.definition.name.as_str()
    }

    /// What the platform is told about the tool.
    pub fn definition(&self) -> &ToolDefinition {
        &self.definition
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// A tool whose arguments are a type. The type's schema becomes the `inputSchema`; doc comments on its fields become the
/// descriptions that the model reads. Arguments that do not fit are answered with `INVALID_ARGUMENTS` and the place that
/// is wrong; the handler does not see them.
///
/// A result of [`Json`] also gives the tool an `outputSchema`.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use toolyard_app_sdk::{Category, ToolContext, create_tool};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Greeting {
///     /// Whom to greet.
///     name: String,
/// }
///
/// let tool = create_tool("greet", "Greets somebody.", |args: Greeting, _cx: ToolContext| async move {
///     if args.name.is_empty() { Err("nobody is there") } else { Ok(format!("Hello, {}!", args.name)) }
/// })
/// .category(Category::Communication)
/// .read_only()
/// .build()?;
/// assert_eq!(tool.definition().input_schema()["required"][0], "name");
/// # Ok::<(), toolyard_app_sdk::InvalidTool>(())
/// ```
pub fn create_tool<A, F, Fut, R, E>(
    name: impl Into<String>,
    description: impl Into<String>,
    handler: F,
) -> ToolBuilder
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, E>> + Send + 'static,
    R: IntoToolReply,
    E: Display,
{
    let run: AppToolHandler = Arc::new(move |arguments, cx| match read_arguments(arguments) {
        Ok(arguments) => {
            let answer = handler(arguments, cx);
            Box::pin(async move { outcome::to_outcome(answer.await) })
        }
        Err(failure) => Box::pin(std::future::ready(Err(failure))),
    });
    ToolBuilder::new(name.into(), description.into(), schema::arguments_schema::<A>(), run)
        .with_output(R::output_schema())
}

/// A tool with a schema written by hand; the handler gets the arguments as they came.
///
/// ```
/// use serde_json::{Map, Value, json};
/// use toolyard_app_sdk::{ToolContext, create_dynamic_tool};
///
/// let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
/// let tool = create_dynamic_tool("twice", "Doubles a number.", schema, |args: Map<String, Value>, _cx: ToolContext| async move {
///     let n = args.get("n").and_then(Value::as_i64).ok_or("`n` is missing")?;
///     Ok::<_, &str>((2 * n).to_string())
/// })
/// .build()?;
/// # Ok::<(), toolyard_app_sdk::InvalidTool>(())
/// ```
pub fn create_dynamic_tool<F, Fut, R, E>(
    name: impl Into<String>,
    description: impl Into<String>,
    input_schema: Value,
    handler: F,
) -> ToolBuilder
where
    F: Fn(Map<String, Value>, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, E>> + Send + 'static,
    R: IntoToolReply,
    E: Display,
{
    let run: AppToolHandler = Arc::new(move |arguments, cx| {
        let answer = handler(arguments, cx);
        Box::pin(async move { outcome::to_outcome(answer.await) })
    });
    ToolBuilder::new(name.into(), description.into(), input_schema, run).with_output(R::output_schema())
}

pub(crate) fn read_arguments<A: DeserializeOwned>(arguments: Map<String, Value>) -> Result<A, CallFailure> {
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.into_inner();
        // The root is written as a dot; there the message alone says it: "missing field `todo_item`".
        CallFailure::invalid_arguments(if path == "." {
            problem.to_string()
        } else {
            format!("{path}: {problem}")
        })
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Inner {
        #[serde(rename = "list")]
        _list: Vec<u8>,
    }

    #[derive(Debug, Deserialize)]
    struct Outer {
        #[serde(rename = "inner")]
        _inner: Inner,
    }

    #[test]
    fn wrong_arguments_name_the_place() {
        for (arguments, message) in [
            (json!({}), "missing field `inner`"),
            (
                json!({ "inner": { "list": [1, "x"] } }),
                "inner.list[1]: invalid type: string \"x\", expected u8",
            ),
        ] {
            let Value::Object(arguments) = arguments else { unreachable!() };
            let failure = read_arguments::<Outer>(arguments).unwrap_err();
            assert_eq!(failure, CallFailure::invalid_arguments(message.to_owned()));
        }
    }
}
