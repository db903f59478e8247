//! The tools of the server itself, set up from the configuration.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio_util::task::TaskTracker;
use toolyard_agent::shortlist::vectors::WordVectors;
use toolyard_core::{
    CatalogView, Tool,
    kept::KeptResults,
    ports::{Clock, ToolSearch},
};
use toolyard_net::{Guard, HttpClient};
use toolyard_sources::{
    builtin::{Builtin, BuiltinParts, CalculatorSetup},
    worker::WorkerCommand,
};
use toolyard_toolbox::{
    files::{Access, RootPolicy, RootSettings, Roots, WriteQuota},
    web_search::{SearchSettings, Secret},
};

use crate::{
    config::{BuiltinConfig, SearchConfig, SearchProvider},
    doors::chat::ViewTools,
    parts::WebAccess,
    serve::StartError,
};

/// Finds tools by what they do.
pub(crate) const SEARCH_TOOLS: &str = "toolyard:search_tools";
/// Reads on in a result that was too long for a model.
pub(crate) const READ_RESULT: &str = "toolyard:read_result";

/// What the tools share with the rest of the server.
pub(crate) struct Around {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) web: WebAccess,
    /// For addresses that the operator chose.
    pub(crate) http: HttpClient,
    pub(crate) guard: Guard,
    pub(crate) kept: Arc<KeptResults>,
    pub(crate) vectors: Option<Arc<WordVectors>>,
    pub(crate) environment: toolyard_sources::upstream::Environment,
    pub(crate) worker: Option<WorkerCommand>,
    pub(crate) tasks: TaskTracker,
}

/// The parts of the built-in source. None where it is switched off.
pub(crate) fn parts(config: &BuiltinConfig, around: Around) -> Result<Option<BuiltinParts>, StartError> {
    if !config.enabled {
        return Ok(None);
    }
    let wrong =
        |place: &str, why: &dyn std::fmt::Display| StartError::Config(format!("builtin.{place}: {why}"));
    let named = |name: &String| {
        Builtin::named(name).ok_or_else(|| wrong("off", &format!("there is no tool `{name}`")))
    };
    let off = config.off.iter().map(named).collect::<Result<_, _>>()?;
    let quota = WriteQuota { files: config.files_per_user, bytes: config.file_bytes_per_user };
    let roots = config.roots.iter().map(|root| {
        let access = if root.write { Access::Write } else { Access::Read };
        let settings = RootSettings { name: root.name.clone(), folder: root.folder.clone(), access };
        let per_user = root.is_per_user();
        (settings, RootPolicy { shows_hidden: root.hidden, per_user, quota: Some(quota) })
    });
    let roots = match config.roots.is_empty() {
        true => None,
        false => Some(Roots::open_with(roots).map_err(|error| wrong("roots", &error))?),
    };
    let search = config.search.as_ref().map(|search| search_settings(search, &around)).transpose()?;
    Ok(Some(BuiltinParts {
        clock: around.clock,
        http: around.web.http,
        guard: around.web.guard,
        search_http: around.http,
        roots,
        search,
        searches_per_minute: config.searches_per_minute,
        kept: around.kept,
        finder: Arc::new(Finder(around.vectors)),
        calculator: CalculatorSetup {
            worker: around.worker,
            limit: Duration::from_millis(config.calculation_ms),
            tasks: around.tasks,
        },
        off,
    }))
}

fn search_settings(config: &SearchConfig, around: &Around) -> Result<SearchSettings, StartError> {
    let wrong = |why: &dyn std::fmt::Display| StartError::Config(format!("builtin.search: {why}"));
    let key = || {
        let variable = config.key_env.as_ref().ok_or_else(|| wrong(&"key_env: missing"))?;
        let key = (around.environment)(variable);
        key.map(Secret::new).ok_or_else(|| wrong(&format!("the variable {variable} is not set")))
    };
    let url = config.url.as_deref();
    let settings = match config.provider {
        SearchProvider::Searxng => {
            SearchSettings::searxng(url.ok_or_else(|| wrong(&"url: missing"))?, &around.guard)
        }
        SearchProvider::Brave => SearchSettings::brave(key()?, url, &around.guard),
        SearchProvider::Tavily => SearchSettings::tavily(key()?, url, &around.guard),
    };
    settings.map_err(|error| wrong(&error))
}

/// Finds tools with the same index by which chats choose theirs.
struct Finder(Option<Arc<WordVectors>>);

#[async_trait]
impl ToolSearch for Finder {
    async fn search(&self, view: &CatalogView, words: &str, most: usize) -> Vec<Arc<Tool>> {
        // One index for all of them, whichever of them this caller chose.
        ViewTools::of(&view.before_choice(), self.0.as_ref()).await.search(view, words, most).await
    }
}
