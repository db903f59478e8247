//! The tools of this program itself, under the package `toolyard`. The functions are those of the toolbox; here they become
//! tools that the one executor runs.
//!
//! | look for | in |
//! | --- | --- |
//! | which tools there are, and which of them are on | `offered` |
//! | calculating where it can be killed | `calculator` |
//! | finding tools by words | `search_tools` |
//! | reading on in a long result | `read_result` |

mod calculator;
mod offered;
mod read_result;
mod search_tools;
mod user_folder;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use toolyard_core::{
    CallContext, Reply, Tool, ToolError,
    kept::KeptResults,
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
    Output,
    files::{self, Roots},
    page, time,
    web_search::{self, SearchSettings},
};

pub(crate) use self::calculator::CALCULATE;
use self::calculator::Calculator;
pub use self::{
    calculator::CalculatorSetup,
    offered::{Builtin, PACKAGE},
    read_result::{Arguments as ReadResultArguments, PAGE as READ_RESULT_PAGE},
};

/// What the tools need.
pub struct BuiltinParts {
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Fetches pages, whose addresses models and pages choose.
    pub http: HttpClient,
    /// Where pages may be: the client's own.
    pub guard: Guard,
    /// Asks the search engine, whose address the operator chose.
    pub search_http: HttpClient,
    /// Folders that may be read or written; without them there are no tools for files.
    pub roots: Option<Roots>,
    /// Who searches the web; without it there is no such tool.
    pub search: Option<SearchSettings>,
    /// Searches of the web in a minute, of everybody together.
    pub searches_per_minute: u32,
    /// Results that wait to be read on.
    pub kept: Arc<KeptResults>,
    /// Finds tools.
    pub finder: Arc<dyn ToolSearch>,
    /// How calculations are made.
    pub calculator: CalculatorSetup,
    /// Tools that the operator does not want.
    pub off: Vec<Builtin>,
}

/// Runs them.
pub struct BuiltinSource {
    parts: BuiltinParts,
    searches: Mutex<(i64, u32)>,
    calculator: Calculator,
}

impl BuiltinSource {
    /// A source of these parts.
    pub fn new(parts: BuiltinParts) -> Self {
        let calculator = Calculator::new(parts.calculator.clone(), parts.http.clone(), parts.guard.clone());
        Self { parts, searches: Mutex::new((0, 0)), calculator }
    }

    async fn run(
        &self,
        which: Builtin,
        cx: &CallContext,
        given: &ValidArguments,
    ) -> Result<Output, ToolError> {
        let (now, left) = (self.parts.clock.now(), cx.deadline.saturating_duration_since(Instant::now()));
        // Each user sees their own folders.
        let roots = async || {
            let roots = self.parts.roots.as_ref().ok_or_else(|| absent(which))?;
            let own = roots.for_user(&user_folder::user_folder(&cx.user)).await;
            own.map_err(|error| ToolError::new(ErrorCode::ExecutionError, error.to_string()))
        };
        match which {
            Builtin::Calculate => self.calculator.run(read(given)?, &cx.user, cx.cancel.clone(), left).await,
            Builtin::CurrentTime => told(time::current_time(&read(given)?, now)),
            Builtin::ConvertTime => told(time::convert_time(&read(given)?, now)),
            Builtin::TimeDifference => told(time::time_difference(&read(given)?, now)),
            Builtin::AddToTime => told(time::add_to_time(&read(given)?, now)),
            Builtin::ListFiles => told(files::list_files(read(given)?, &roots().await?).await),
            Builtin::ReadFile => told(files::read_file(read(given)?, &roots().await?).await),
            Builtin::WriteFile => told(files::write_file(read(given)?, &roots().await?).await),
            Builtin::SearchFiles => told(files::search_files(read(given)?, &roots().await?, left).await),
            Builtin::FetchPage => {
                told(page::fetch_page(read(given)?, &self.parts.http, &self.parts.guard, left).await)
            }
            Builtin::WebSearch => {
                let settings = self.parts.search.as_ref().ok_or_else(|| absent(which))?;
                self.count_search()?;
                told(web_search::web_search(read(given)?, settings, &self.parts.search_http, left).await)
            }
            Builtin::SearchTools => Ok(search_tools::run(&read(given)?, &cx.view, &*self.parts.finder).await),
            Builtin::ReadResult => {
                let can_see = |tool: &ToolName| read_result::can_see(&cx.view, tool);
                read_result::run(&read(given)?, &cx.owner(), can_see, &self.parts.kept, now)
            }
        }
    }

    /// A search costs the operator money, so there are so many in a minute and no more.
    fn count_search(&self) -> Result<(), ToolError> {
        let second = self.parts.clock.now().as_second();
        let mut counted = self.searches.lock().unwrap_or_else(PoisonError::into_inner);
        let minute = second.div_euclid(60);
        if counted.0 != minute {
            *counted = (minute, 0);
        }
        if counted.1 >= self.parts.searches_per_minute {
            let wait = u64::try_from(60 - second.rem_euclid(60)).unwrap_or(60);
            let text = format!("The web was searched too often in this minute; try again in {wait} s.");
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
        let which = Builtin::named(&tool.remote).ok_or_else(|| {
            ToolError::new(ErrorCode::ToolNotHandled, format!("There is no {} in this program.", tool.name))
        })?;
        Ok(Box::new(FoundBuiltin { source: self, cx, which }))
    }
}

/// A tool of this program.
struct FoundBuiltin<'a> {
    source: &'a BuiltinSource,
    cx: &'a CallContext,
    which: Builtin,
}

#[async_trait]
impl ReadyTool for FoundBuiltin<'_> {
    async fn invoke(self: Box<Self>, arguments: &ValidArguments) -> Result<Reply, ToolError> {
        let output = match self.source.run(self.which, self.cx, arguments).await {
            Ok(output) => output,
            // It ran and could not: the model reads why.
            Err(error) if error.code == ErrorCode::ExecutionError => {
                let failed = ToolResult::plain(McpResult::error(&error.for_model));
                return Ok(Reply::Done(failed));
            }
            Err(error) => return Err(error),
        };
        let result = McpResult::text(&output.text);
        let result = match &output.structured {
            Some(structured) => result.with_structured(&to_raw(structured)),
            None => result,
        };
        Ok(Reply::Done(ToolResult::plain(result)))
    }
}

/// The arguments as the function takes them. They fit the schema, so this fails only where the schema says less.
fn read<T: DeserializeOwned>(arguments: &ValidArguments) -> Result<T, ToolError> {
    serde_json::from_str(arguments.raw().get()).map_err(|error| {
        ToolError::new(ErrorCode::InvalidArguments, format!("The arguments do not fit: {error}."))
    })
}

fn told(result: Result<Output, impl std::fmt::Display>) -> Result<Output, ToolError> {
    result.map_err(|error| ToolError::new(ErrorCode::ExecutionError, error.to_string()))
}

fn absent(which: Builtin) -> ToolError {
    let text = format!("{} is not set up on this server.", which.as_str());
    ToolError::new(ErrorCode::AppNotAvailable, text)
}
