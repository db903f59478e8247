//! Sets up the built-in tools from the configuration.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio_util::task::TaskTracker;
use toolyard_agent::shortlist::vectors::WordVectors;
use toolyard_core::{
    CatalogView, Tool,
    long_results::LongResults,
    ports::{Clock, ToolSearch},
};
use toolyard_net::{Guard, HttpClient};
use toolyard_sources::{
    builtin::{BuiltinParts, BuiltinTool, CalculatorSetup},
    worker::WorkerCommand,
};
use toolyard_toolbox::{
    files::{FileRoots, RootAccess, RootPolicy, RootSettings, WriteQuota},
    web_search::{SearchKey, SearchSettings},
};

use crate::{
    config::{BuiltinConfig, SearchConfig, SearchProvider},
    doors::chat::ViewTools,
    parts::WebAccess,
    serve::ServerStartError,
};

/// The tool that finds tools by what they do.
pub(crate) const SEARCH_TOOLS: &str = "toolyard:search_tools";
/// The tool that reads more of a result that was too long for a model.
pub(crate) const READ_RESULT: &str = "toolyard:read_result";

/// What the built-in tools share with the rest of the server.
pub(crate) struct BuiltinDependencies {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) web: WebAccess,
    /// For addresses that the operator configured.
    pub(crate) http: HttpClient,
    pub(crate) guard: Guard,
    pub(crate) long_results: Arc<LongResults>,
    pub(crate) vectors: Option<Arc<WordVectors>>,
    pub(crate) environment: toolyard_sources::upstream::UpstreamEnvironment,
    pub(crate) worker: Option<WorkerCommand>,
    pub(crate) tasks: TaskTracker,
}

/// The parts of the built-in source. None if it is disabled.
pub(crate) fn build_builtin_parts(
    config: &BuiltinConfig,
    deps: BuiltinDependencies,
) -> Result<Option<BuiltinParts>, ServerStartError> {
    if !config.enabled {
        return Ok(None);
    }
    let wrong = |place: &str, why: &dyn std::fmt::Display| {
        ServerStartError::Config(format!("builtin.{place}: {why}"))
    };
    let named = |name: &String| {
        BuiltinTool::from_name(name).ok_or_else(|| wrong("off", &format!("there is no tool `{name}`")))
    };
    let off = config.off.iter().map(named).collect::<Result<_, _>>()?;
    let quota = WriteQuota { files: config.files_per_user, bytes: config.file_bytes_per_user };
    let roots = config.roots.iter().map(|root| {
        let access = if root.write { RootAccess::Write } else { RootAccess::Read };
        let settings = RootSettings { name: root.name.clone(), folder: root.folder.clone(), access };
        let per_user = root.is_per_user();
        (settings, RootPolicy { shows_hidden: root.hidden, per_user, quota: Some(quota) })
    });
    let roots = match config.roots.is_empty() {
        true => None,
        false => Some(FileRoots::open_with(roots).map_err(|error| wrong("roots", &error))?),
    };
    let search = config.search.as_ref().map(|search| search_settings(search, &deps)).transpose()?;
    Ok(Some(BuiltinParts {
        clock: deps.clock,
        http: deps.web.http,
        guard: deps.web.guard,
        search_http: deps.http,
        roots,
        search,
        searches_per_minute: config.searches_per_minute,
        kept: deps.long_results,
        finder: Arc::new(ShortlistSearch(deps.vectors)),
        calculator: CalculatorSetup {
            worker: deps.worker,
            limit: Duration::from_millis(config.calculation_ms),
            tasks: deps.tasks,
        },
        off,
    }))
}

fn search_settings(
    config: &SearchConfig,
    deps: &BuiltinDependencies,
) -> Result<SearchSettings, ServerStartError> {
    let wrong = |why: &dyn std::fmt::Display| ServerStartError::Config(format!("builtin.search: {why}"));
    let key = || {
        let variable = config.key_env.as_ref().ok_or_else(|| wrong(&"key_env: missing"))?;
        let key = (deps.environment)(variable);
        key.map(SearchKey::new).ok_or_else(|| wrong(&format!("the variable {variable} is not set")))
    };
    let url = config.url.as_deref();
    let settings = match config.provider {
        SearchProvider::Searxng => {
            SearchSettings::searxng(url.ok_or_else(|| wrong(&"url: missing"))?, &deps.guard)
        }
        SearchProvider::Brave => SearchSettings::brave(key()?, url, &deps.guard),
        SearchProvider::Tavily => SearchSettings::tavily(key()?, url, &deps.guard),
    };
    settings.map_err(|error| wrong(&error))
}

/// Searches tools in the index that chats use for their shortlist.
struct ShortlistSearch(Option<Arc<WordVectors>>);

#[async_trait]
impl ToolSearch for ShortlistSearch {
    async fn search_tools(&self, view: &CatalogView, words: &str, most: usize) -> Vec<Arc<Tool>> {
        // The index covers all tools of the view, so that it is shared by callers who chose different tools.
        ViewTools::for_view(&view.without_restriction(), self.0.as_ref())
            .await
            .search_tools(view, words, most)
            .await
    }
}
