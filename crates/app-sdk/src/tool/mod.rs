//! Tools: a definition and a handler.
//!
//! [`create_tool`] takes the schema from the function's argument type, [`create_dynamic_tool`] takes one written by hand.
//! The platform validates arguments against a hand-written schema before it calls the tool.

mod build;
mod context;
mod fallback;
mod outcome;
mod reply;

use std::{fmt, fmt::Display, future::Future, sync::Arc};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toolyard_protocol::tool::ToolDefinition;
use toolyard_typed_tool::{ErasedFunction, InvalidArguments, arguments_schema, erase_dynamic, erase_typed};

pub use build::{InvalidTool, ToolBuilder};
pub use context::ToolContext;
pub(crate) use context::{CallFacts, progress_channel};
pub use fallback::FallbackCall;
pub(crate) use fallback::FallbackHandler;
pub(crate) use outcome::{CallFailure, CallResponse, HandlerOutcome, ResponseLine};
pub use reply::{IntoToolReply, Json, NoArguments, ToolReply};

/// A handler with its types erased.
pub(crate) type AppToolHandler = ErasedFunction<ToolContext, HandlerOutcome>;

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

    /// The definition, as the platform sees it.
    pub fn definition(&self) -> &ToolDefinition {
        &self.definition
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// Creates a tool with typed arguments. The type's schema becomes the `inputSchema`; doc comments on its fields become the
/// descriptions that the model reads. Invalid arguments fail with `INVALID_ARGUMENTS` and the place, without calling the handler.
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
/// let tool = create_tool("greet", "Greets a person.", |args: Greeting, _cx: ToolContext| async move {
///     if args.name.is_empty() { Err("the name is empty") } else { Ok(format!("Hello, {}!", args.name)) }
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
    let run = erase_typed(handler, outcome::to_outcome, refuse_arguments);
    ToolBuilder::new(name.into(), description.into(), arguments_schema::<A>(), run)
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
    let run = erase_dynamic(handler, outcome::to_outcome);
    ToolBuilder::new(name.into(), description.into(), input_schema, run).with_output(R::output_schema())
}

fn refuse_arguments(invalid: InvalidArguments) -> HandlerOutcome {
    Err(CallFailure::invalid_arguments(invalid.to_string()))
}
