//! Tools of one program, without a server: register, list, validate, execute, and serve over MCP.
//!
//! For a program that only offers some functions of its own. The same checks as on the platform: definitions and
//! schemas are checked on registration, arguments before each run, and errors are texts that a model can act on. There
//! are no users, no permissions and no call records; a program that needs those connects to a server.

mod mcp;
mod tool;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use parking_lot::RwLock;
use serde_json::value::RawValue;
use tokio::sync::watch;
use toolyard_protocol::{ErrorCode, Problem, raw::to_raw, result::McpResult, tool::MAX_TOOLS};

pub use self::tool::LocalTool;
use crate::error::ToolError;

/// Default timeout of a tool.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a tool was not registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegisterToolError {
    /// Its definition is invalid.
    #[error("the definition is wrong: {}", join_problems(.0))]
    Definition(Vec<Problem>),
    /// The name is taken.
    #[error("a tool `{0}` is registered already")]
    Taken(String),
    /// There are too many tools.
    #[error("more than {MAX_TOOLS} tools")]
    TooMany,
}

fn join_problems(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
}

/// The tools of one program. All methods can be called concurrently.
#[derive(Debug)]
pub struct ToolService {
    name: String,
    tools: RwLock<Vec<Arc<LocalTool>>>,
    changes: watch::Sender<u64>,
}

impl ToolService {
    /// Creates a service without tools, under the name that MCP clients see.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), tools: RwLock::default(), changes: watch::Sender::new(0) }
    }

    /// Adds a tool.
    pub fn register(&self, tool: LocalTool) -> Result<(), RegisterToolError> {
        tool.check_definition().map_err(RegisterToolError::Definition)?;
        let mut tools = self.tools.write();
        if tools.iter().any(|known| known.name() == tool.name()) {
            return Err(RegisterToolError::Taken(tool.name().to_owned()));
        }
        if tools.len() >= MAX_TOOLS {
            return Err(RegisterToolError::TooMany);
        }
        tools.push(Arc::new(tool));
        drop(tools);
        self.changes.send_modify(|count| *count += 1);
        Ok(())
    }

    /// Removes a tool. Running calls continue. False if there is none with that name.
    pub fn unregister(&self, name: &str) -> bool {
        let mut tools = self.tools.write();
        let before = tools.len();
        tools.retain(|tool| tool.name() != name);
        let gone = tools.len() < before;
        drop(tools);
        if gone {
            self.changes.send_modify(|count| *count += 1);
        }
        gone
    }

    /// The definitions, in the order in which they were registered.
    pub fn list(&self) -> Vec<Box<RawValue>> {
        self.all_tools().iter().map(|tool| tool.definition()).collect()
    }

    /// Notifies when the list changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Checks whether a call with these arguments would be accepted.
    pub async fn validate(&self, name: &str, arguments: Option<&RawValue>) -> Result<(), ToolError> {
        self.find_tool(name)?.validate_arguments(arguments).await.map(drop)
    }

    /// Runs a tool: validates the arguments, enforces the timeout, and catches panics.
    pub async fn execute(&self, name: &str, arguments: Option<&RawValue>) -> Result<McpResult, ToolError> {
        let tool = self.find_tool(name)?;
        let arguments = tool.validate_arguments(arguments).await?;
        let run = AssertUnwindSafe(tool.run_handler(arguments)).catch_unwind();
        match tokio::time::timeout(tool.timeout(), run).await {
            Ok(Ok(Ok(result))) => tool.check_result(result).await,
            Ok(Ok(Err(words))) => Err(ToolError::new(ErrorCode::ExecutionError, words)),
            Ok(Err(_panic)) => Err(ToolError::new(ErrorCode::ExecutionError, format!("{name} failed."))
                .with_cause("it panicked")),
            Err(_elapsed) => {
                Err(ToolError::new(ErrorCode::Timeout, format!("{name} did not answer in time.")))
            }
        }
    }

    fn all_tools(&self) -> Vec<Arc<LocalTool>> {
        self.tools.read().clone()
    }

    fn find_tool(&self, name: &str) -> Result<Arc<LocalTool>, ToolError> {
        self.all_tools().into_iter().find(|tool| tool.name() == name).ok_or_else(|| {
            let shown: String = name.chars().take(80).collect();
            ToolError::new(ErrorCode::ToolNotFound, format!("Unknown tool: {shown}"))
        })
    }
}

/// A failed call as an MCP result.
fn error_result(error: &ToolError) -> Box<RawValue> {
    to_raw(McpResult::from_error_text(&error.for_model).raw())
}
