//! One tool of a program: its definition, and the function behind it.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, ready};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json, value::RawValue};
use toolyard_protocol::{ErrorCode, Problem, raw::to_raw, result::McpResult, tool::ToolDefinition};
use toolyard_typed_tool::{ErasedFunction, arguments_schema, erase_dynamic, erase_typed};

use super::CALL_TIMEOUT;
use crate::{
    error::ToolError,
    schema::{CompiledSchema, pool::WorkOwner},
};

type ToolHandler = ErasedFunction<(), Result<McpResult, String>>;

/// A tool of this program.
pub struct LocalTool {
    name: String,
    definition: Box<RawValue>,
    compiled: Result<CompiledDefinition, Vec<Problem>>,
    handler: ToolHandler,
    timeout: Duration,
}

/// A definition with its schemas compiled.
struct CompiledDefinition {
    input: Arc<CompiledSchema>,
    output: Option<Arc<CompiledSchema>>,
}

impl LocalTool {
    /// A tool whose arguments are a Rust type; the input schema is generated from it.
    pub fn typed<A, F, R>(name: &str, description: &str, handler: F) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        F: Fn(A) -> R + Send + Sync + 'static,
        R: Future<Output = Result<McpResult, String>> + Send + 'static,
    {
        let definition =
            json!({ "name": name, "description": description, "inputSchema": arguments_schema::<A>() });
        let refuse = |invalid| Err(format!("The arguments cannot be read: {invalid}."));
        let handler = erase_typed(move |arguments, ()| handler(arguments), |result| result, refuse);
        Self::new(definition, handler)
    }

    /// A tool from an MCP definition, with at least `name` and `inputSchema`.
    pub fn with_definition<F, R>(definition: Value, handler: F) -> Self
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<McpResult, String>> + Send + 'static,
    {
        let handler = erase_dynamic(move |arguments, ()| handler(Value::Object(arguments)), |result| result);
        Self::new(definition, handler)
    }

    fn new(definition: Value, handler: ToolHandler) -> Self {
        let name = definition.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let definition = to_raw(&definition);
        let compiled = compile_definition(&definition);
        Self { name, definition, compiled, handler, timeout: CALL_TIMEOUT }
    }

    /// Sets the timeout.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn definition(&self) -> Box<RawValue> {
        self.definition.clone()
    }

    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(super) fn check_definition(&self) -> Result<(), Vec<Problem>> {
        self.compiled.as_ref().map(drop).map_err(Clone::clone)
    }

    pub(super) async fn validate_arguments(&self, arguments: Option<&RawValue>) -> Result<Value, ToolError> {
        let invalid = |text: String| ToolError::new(ErrorCode::InvalidArguments, text);
        let text = arguments.map(RawValue::get).filter(|text| *text != "null").unwrap_or("{}");
        let value: Value = serde_json::from_str(text)
            .map_err(|error| invalid(format!("The arguments are not JSON: {error}.")))?;
        let checked = match &self.compiled {
            Ok(checked) => checked.input.check_value(&WorkOwner::anonymous(), value).await.map_err(Vec::from),
            Err(problems) => Err(problems.clone()),
        };
        checked.map_err(|problems| {
            invalid(format!(
                "The arguments of {} do not fit: {}.",
                self.name,
                super::join_problems(&problems)
            ))
        })
    }

    pub(super) fn run_handler(&self, arguments: Value) -> BoxFuture<'static, Result<McpResult, String>> {
        match arguments {
            Value::Object(arguments) => (self.handler)(arguments, ()),
            _ => Box::pin(ready(Err("The arguments are not an object.".to_owned()))),
        }
    }

    /// Validates the result: a tool with an output schema must return a structured result.
    pub(super) async fn check_result(&self, result: McpResult) -> Result<McpResult, ToolError> {
        let Ok(CompiledDefinition { output: Some(output), .. }) = &self.compiled else { return Ok(result) };
        if result.is_error() {
            return Ok(result);
        }
        let structured =
            result.parts().structured_content.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let problems = match structured {
            Some(value) => output
                .check_value(&WorkOwner::anonymous(), value)
                .await
                .err()
                .map(Vec::from)
                .unwrap_or_default(),
            None => vec![Problem::new("structuredContent", "missing")],
        };
        if problems.is_empty() {
            return Ok(result);
        }
        let text = format!(
            "{} ran, but its answer does not fit its own outputSchema: {}.",
            self.name,
            super::join_problems(&problems)
        );
        Err(ToolError::new(ErrorCode::InvalidResponse, text))
    }
}

fn compile_definition(definition: &RawValue) -> Result<CompiledDefinition, Vec<Problem>> {
    let read = ToolDefinition::parse(definition, "tool")?;
    let input = CompiledSchema::compile_shared(&read.input_schema(), "tool.inputSchema");
    let output =
        read.output_schema().map(|schema| CompiledSchema::compile_shared(&schema, "tool.outputSchema"));
    match (input, output.transpose()) {
        (Ok(input), Ok(output)) => Ok(CompiledDefinition { input, output }),
        (input, output) => Err(input.err().into_iter().chain(output.err()).collect()),
    }
}

impl fmt::Debug for LocalTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalTool").field("name", &self.name).finish_non_exhaustive()
    }
}
