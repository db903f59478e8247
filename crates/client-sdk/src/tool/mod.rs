//! A tool that runs in this program: its definition for the model, and the function that runs it.
//!
//! [`create_tool`] takes the schema from the function's argument type, [`create_dynamic_tool`] takes one written by hand.
//! The server does not validate the arguments of client tools. [`create_tool`] does, by deserializing them into the type.

mod call;
mod context;
mod on_tool_call;

use std::{fmt, fmt::Display, future::Future, sync::Arc};

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use toolyard_protocol::chat::ClientTool;
use toolyard_typed_tool::{ErasedFunction, arguments_schema, erase_dynamic, erase_typed};

pub use call::ToolCall;
pub use context::{ToolContext, ToolProgress};
pub use on_tool_call::{CallRun, OnToolCall};

/// Why a call failed. The model reads it as `{"error": …}`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl ToolError {
    /// An error with this message.
    pub fn new(text: impl Display) -> Self {
        Self(text.to_string())
    }
}

/// The function of a tool, with its types erased.
pub type ToolExecutor = ErasedFunction<ToolContext, Result<Value, ToolError>>;

/// A tool that is ready to be registered. Cheap to clone.
#[derive(Clone)]
pub struct Tool {
    definition: Arc<ClientTool>,
    executor: ToolExecutor,
}

impl Tool {
    /// A tool from its definition and its function.
    pub fn new(definition: ClientTool, executor: ToolExecutor) -> Self {
        Self { definition: Arc::new(definition), executor }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// Its definition, as the model sees it.
    pub fn definition(&self) -> &ClientTool {
        &self.definition
    }

    /// The function that runs it.
    pub fn executor(&self) -> &ToolExecutor {
        &self.executor
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// Creates a tool with typed arguments. The model sees the schema of the type; doc comments on its fields become the
/// descriptions. Invalid arguments return an error that names the place, without calling the function.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use toolyard_client_sdk::{ToolContext, create_tool};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Greeting {
///     /// Whom to greet.
///     name: String,
/// }
///
/// let tool = create_tool("greet", "Greets a person.", |args: Greeting, _cx: ToolContext| async move {
///     if args.name.is_empty() { Err("the name is empty") } else { Ok(format!("Hello, {}!", args.name)) }
/// });
/// assert_eq!(tool.definition().parameters["required"][0], "name");
/// ```
pub fn create_tool<A, F, Fut, R, E>(
    name: impl Into<String>,
    description: impl Into<String>,
    function: F,
) -> Tool
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, E>> + Send + 'static,
    R: Serialize,
    E: Display,
{
    let executor = erase_typed(function, to_tool_result, |invalid| Err(ToolError::new(invalid)));
    let parameters = arguments_schema::<A>();
    Tool::new(ClientTool { name: name.into(), description: description.into(), parameters }, executor)
}

/// Creates a tool with a schema written by hand. The function gets the arguments unchanged.
///
/// ```
/// use serde_json::{Map, Value, json};
/// use toolyard_client_sdk::{ToolContext, create_dynamic_tool};
///
/// let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
/// let tool = create_dynamic_tool("twice", "Doubles a number.", schema, |args: Map<String, Value>, _cx: ToolContext| async move {
///     let n = args.get("n").and_then(Value::as_i64).ok_or("`n` is missing")?;
///     Ok::<_, &str>(2 * n)
/// });
/// assert_eq!(tool.name(), "twice");
/// ```
pub fn create_dynamic_tool<F, Fut, R, E>(
    name: impl Into<String>,
    description: impl Into<String>,
    parameters: Value,
    function: F,
) -> Tool
where
    F: Fn(Map<String, Value>, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, E>> + Send + 'static,
    R: Serialize,
    E: Display,
{
    let executor = erase_dynamic(function, to_tool_result);
    Tool::new(ClientTool { name: name.into(), description: description.into(), parameters }, executor)
}

fn to_tool_result<R: Serialize, E: Display>(answer: Result<R, E>) -> Result<Value, ToolError> {
    let answer = answer.map_err(ToolError::new)?;
    serde_json::to_value(answer)
        .map_err(|error| ToolError(format!("the result cannot be written as JSON: {error}")))
}
