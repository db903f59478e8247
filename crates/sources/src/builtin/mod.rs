//! The built-in tools, under the package `toolyard`. The functions are those of the toolbox; here they become tools
//! for the executor.
//!
//! | look for | in |
//! | --- | --- |
//! | which tools exist, and which are enabled | `offered` |
//! | calculations that can be killed | `calculator` |
//! | searching for tools | `search_tools` |
//! | reading a long result page by page | `read_result` |

mod calculator;
mod offered;
mod read_result;
mod search_tools;
mod user_folder;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use toolyard_core::{
    CallContext, CallReply, Tool, ToolError,
    long_results::LongResults,
    ports::{Clock, ReadyTool, ToolSearch, ToolSource},
    schema::ValidArguments,
};
use toolyard_net::{Guard, HttpClient};
use toolyard_protocol::{
    ErrorCode, ToolName,
    raw::to_raw,
    result::{McpResult, ToolResult},
};
use toolyard_toolbox::{
    ToolboxOutput,
    files::{self, FileRoots},
    page, time,
    web_search::{self, SearchSettings},
};

pub(crate) use self::calculator::CALCULATE;
use self::calculator::Calculator;
pub use self::{
    calculator::CalculatorSetup,
    offered::{BuiltinTool, PACKAGE},
    read_result::{PAGE as READ_RESULT_PAGE, ReadResultArguments},
};

/// Dependencies of the built-in tools.
pub struct BuiltinParts {
    /// The current time.
    pub clock: Arc<dyn Clock>,
    /// Fetches pages, whose URLs come from models and pages.
    pub http: HttpClient,
    /// The guard of `http`.
    pub guard: Guard,
    /// Sends requests to the search engine, whose URL the operator chose.
    pub search_http: HttpClient,
    /// Folders that may be read or written; without them there are no file tools.
    pub roots: Option<FileRoots>,
    /// The web search provider; without it there is no web search.
    pub search: Option<SearchSettings>,
    /// Web searches per minute, over all users.
    pub searches_per_minute: u32,
    /// Long results that can be read page by page.
    pub kept: Arc<LongResults>,
    /// Searches tools.
    pub finder: Arc<dyn ToolSearch>,
    /// How calculations run.
    pub calculator: CalculatorSetup,
    /// Tools that the operator disabled.
    pub off: Vec<BuiltinTool>,
}

/// Runs the built-in tools.
pub struct BuiltinSource {
    parts: BuiltinParts,
    searches: Mutex<(i64, u32)>,
    calculator: Calculator,
}

impl BuiltinSource {
    /// Creates the source.
    pub fn new(parts: BuiltinParts) -> Self {
        let calculator = Calculator::new(parts.calculator.clone(), parts.http.clone(), parts.guard.clone());
        Self { parts, searches: Mutex::new((0, 0)), calculator }
    }

    async fn run_builtin(
        &self,
        which: BuiltinTool,
        cx: &CallContext,
        given: &ValidArguments,
    ) -> Result<ToolboxOutput, ToolError> {
        let (now, left) = (self.parts.clock.now(), cx.deadline.saturating_duration_since(Instant::now()));
        // Each user sees their own folders.
        let roots = async || {
            let roots = self.parts.roots.as_ref().ok_or_else(|| not_set_up_error(which))?;
            let own = roots.for_user(&user_folder::user_folder(&cx.user)).await;
            own.map_err(|error| ToolError::new(ErrorCode::ExecutionError, error.to_string()))
        };
        match which {
            BuiltinTool::Calculate => {
                self.calculator
                    .run_calculation(read_arguments(given)?, &cx.user, cx.cancel.clone(), left)
                    .await
            }
            BuiltinTool::CurrentTime => execution_result(time::current_time(&read_arguments(given)?, now)),
            BuiltinTool::ConvertTime => execution_result(time::convert_time(&read_arguments(given)?, now)),
            BuiltinTool::TimeDifference => {
                execution_result(time::time_difference(&read_arguments(given)?, now))
            }
            BuiltinTool::AddToTime => execution_result(time::add_to_time(&read_arguments(given)?, now)),
            BuiltinTool::ListFiles => {
                execution_result(files::list_files(read_arguments(given)?, &roots().await?).await)
            }
            BuiltinTool::ReadFile => {
                execution_result(files::read_file(read_arguments(given)?, &roots().await?).await)
            }
            BuiltinTool::WriteFile => {
                execution_result(files::write_file(read_arguments(given)?, &roots().await?).await)
            }
            BuiltinTool::SearchFiles => {
                execution_result(files::search_files(read_arguments(given)?, &roots().await?, left).await)
            }
            BuiltinTool::FetchPage => execution_result(
                page::fetch_page(read_arguments(given)?, &self.parts.http, &self.parts.guard, left).await,
            ),
            BuiltinTool::WebSearch => {
                let settings = self.parts.search.as_ref().ok_or_else(|| not_set_up_error(which))?;
                self.count_search()?;
                execution_result(
                    web_search::web_search(read_arguments(given)?, settings, &self.parts.search_http, left)
                        .await,
                )
            }
            BuiltinTool::SearchTools => {
                Ok(search_tools::run_search(&read_arguments(given)?, &cx.view, &*self.parts.finder).await)
            }
            BuiltinTool::ReadResult => {
                let can_see = |tool: &ToolName| read_result::can_see(&cx.view, tool);
                read_result::read_result_page(
                    &read_arguments(given)?,
                    &cx.owner(),
                    can_see,
                    &self.parts.kept,
                    now,
                )
            }
        }
    }

    /// A search costs the operator money, so the searches per minute are limited.
    fn count_search(&self) -> Result<(), ToolError> {
        let second = self.parts.clock.now().as_second();
        let mut counted = self.searches.lock();
        let minute = second.div_euclid(60);
        if counted.0 != minute {
            *counted = (minute, 0);
        }
        if counted.1 >= self.parts.searches_per_minute {
            let wait = u64::try_from(60 - second.rem_euclid(60)).unwrap_or(60);
            let text = format!("The limit of web searches per minute is reached; try again in {wait} s.");
            return Err(ToolError::new(ErrorCode::RateLimited, text).retry_after(Duration::from_secs(wait)));
        }
        counted.1 += 1;
        Ok(())
    }
}

#[async_trait]
impl ToolSource for BuiltinSource {
    async fn make_ready<'a>(
        &'a self,
        cx: &'a CallContext,
        tool: &'a Tool,
    ) -> Result<Box<dyn ReadyTool + 'a>, ToolError> {
        let which = BuiltinTool::from_name(&tool.remote).ok_or_else(|| {
            ToolError::new(ErrorCode::ToolNotHandled, format!("This server has no tool {}.", tool.name))
        })?;
        Ok(Box::new(FoundBuiltin { source: self, cx, which }))
    }
}

/// A built-in tool that is ready for a call.
struct FoundBuiltin<'a> {
    source: &'a BuiltinSource,
    cx: &'a CallContext,
    which: BuiltinTool,
}

#[async_trait]
impl ReadyTool for FoundBuiltin<'_> {
    async fn invoke(self: Box<Self>, arguments: &ValidArguments) -> Result<CallReply, ToolError> {
        let output = match self.source.run_builtin(self.which, self.cx, arguments).await {
            Ok(output) => output,
            // The tool ran and failed: the model reads why.
            Err(error) if error.code == ErrorCode::ExecutionError => {
                let failed = ToolResult::from_mcp(McpResult::from_error_text(&error.for_model));
                return Ok(CallReply::Done(failed));
            }
            Err(error) => return Err(error),
        };
        let result = McpResult::from_text(&output.text);
        let result = match &output.structured {
            Some(structured) => result.with_structured(&to_raw(structured)),
            None => result,
        };
        Ok(CallReply::Done(ToolResult::from_mcp(result)))
    }
}

/// Deserializes the arguments. They match the schema, so this fails only if the type is stricter.
fn read_arguments<T: DeserializeOwned>(arguments: &ValidArguments) -> Result<T, ToolError> {
    serde_json::from_str(arguments.raw().get()).map_err(|error| {
        ToolError::new(ErrorCode::InvalidArguments, format!("The arguments do not fit: {error}."))
    })
}

fn execution_result(
    result: Result<ToolboxOutput, impl std::fmt::Display>,
) -> Result<ToolboxOutput, ToolError> {
    result.map_err(|error| ToolError::new(ErrorCode::ExecutionError, error.to_string()))
}

fn not_set_up_error(which: BuiltinTool) -> ToolError {
    let text = format!("{} is not set up on this server.", which.as_str());
    ToolError::new(ErrorCode::AppNotAvailable, text)
}
