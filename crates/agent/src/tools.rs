//! The tools of a turn: which there are, where they run, and the port that runs them.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use async_trait::async_trait;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use toolyard_core::{ToolError, executor::CallOutcome, ports::NoticeSink};

use crate::{
    message::ModelToolCall,
    model::ToolSpec,
    shortlist::{ToolDocument, ToolIndex, ToolQuery, parameters_of, pick_tools, vectors::WordVectors},
};

/// Where a turn's tools come from. In the server it is the catalog and the executor, in an app it is a server.
#[async_trait]
pub trait ToolProvider: Send + Sync {
    /// The tools that can be called now. Called once per step.
    async fn freeze(&self) -> Result<Box<dyn FrozenTools + '_>, ToolError>;
}

/// The tools of one step: what is offered to the model is what can be called.
#[async_trait]
pub trait FrozenTools: Send + Sync {
    /// The tools on offer.
    fn view(&self) -> &Arc<ToolView>;

    /// Runs a call of an offered tool. Returns soon after `cancel` fires.
    async fn call(
        &self,
        tool: &TurnTool,
        call: &ModelToolCall,
        news: NoticeSink,
        cancel: CancellationToken,
    ) -> CallOutcome;

    /// Whether the caller's client can run this call as it is.
    async fn check_client_call(&self, _tool: &TurnTool, _call: &ModelToolCall) -> Result<(), ToolError> {
        Ok(())
    }

    /// Stores a result that is too long for a model, so that a tool can return the rest. Returns the text that tells
    /// the model how to get it, or None if the rest cannot be read.
    fn store_full_result(&self, _call: &ModelToolCall, _result: &str, _read: usize) -> Option<String> {
        None
    }
}

/// Where a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolLocation {
    /// Behind the [`ToolProvider`].
    Here,
    /// In the caller's client, which receives the call and sends the result with its next request.
    Client,
}

/// A tool that a turn can offer.
#[derive(Debug)]
pub struct TurnTool {
    /// What the model sees.
    pub spec: Arc<ToolSpec>,
    /// Where it runs.
    pub place: ToolLocation,
    /// What people see of it.
    pub about: ToolDisplay,
    /// Activation phrases, each with its language if known.
    pub phrases: Vec<(String, Option<String>)>,
}

/// What people see of a tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolDisplay {
    /// `package:tool`, or the bare name of a client tool.
    pub name: String,
    /// The title for people.
    pub title: Option<String>,
    /// The app that the tool belongs to.
    pub app: Option<String>,
    /// The URL of the app's icon.
    pub icon: Option<String>,
}

/// All tools of a [`ToolProvider`] in a fixed order, with an index for choosing among them. Built once and shared until
/// something changes.
#[derive(Debug, Default)]
pub struct IndexedTools {
    tools: Vec<Arc<TurnTool>>,
    by_name: HashMap<String, usize>,
    vectors: Option<Arc<WordVectors>>,
    index: OnceCell<ToolIndex>,
}

impl IndexedTools {
    /// Holds these tools. If two have the same name, the first wins. With `vectors`, meaning counts when tools are
    /// chosen.
    pub fn new(tools: impl IntoIterator<Item = Arc<TurnTool>>, vectors: Option<Arc<WordVectors>>) -> Self {
        let mut own = Self { vectors, ..Self::default() };
        for tool in tools {
            if !own.by_name.contains_key(&tool.spec.name) {
                own.by_name.insert(tool.spec.name.clone(), own.tools.len());
                own.tools.push(tool);
            }
        }
        own
    }

    /// All tools.
    pub fn tools(&self) -> &[Arc<TurnTool>] {
        &self.tools
    }

    /// The position of the tool of that name.
    pub fn position_of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The index. It is built on first use, on a blocking thread, because many tools take time.
    pub async fn index(self: &Arc<Self>) -> &ToolIndex {
        let make = || async {
            let own = self.clone();
            let made = tokio::task::spawn_blocking(move || {
                let documents = own.tools.iter().enumerate().map(|(key, tool)| turn_tool_document(key, tool));
                ToolIndex::build(documents, own.vectors.clone())
            });
            made.await.unwrap_or_else(|_| ToolIndex::build([], None))
        };
        self.index.get_or_init(make).await
    }
}

fn turn_tool_document(key: usize, tool: &TurnTool) -> ToolDocument<'_> {
    let name = tool.about.name.split_once(':').map_or(tool.about.name.as_str(), |(_, local)| local);
    ToolDocument {
        key,
        name,
        aliases: vec![&tool.spec.name, &tool.about.name],
        title: tool.about.title.as_deref().unwrap_or_default(),
        app_name: tool.about.app.as_deref().unwrap_or_default(),
        description: &tool.spec.description,
        parameters: parameters_of(&tool.spec.schema),
        phrases: tool.phrases.iter().map(|(text, language)| (text.as_str(), language.as_deref())).collect(),
    }
}

/// The tools that can be called in one step: all or some of the provider's tools, and those of the client.
#[derive(Debug, Default)]
pub struct ToolView {
    own: Arc<IndexedTools>,
    /// By position. None if all are allowed.
    allowed: Option<Vec<bool>>,
    client_tools: Vec<Arc<TurnTool>>,
}

impl ToolView {
    /// All tools of the provider.
    pub fn with_all(own: Arc<IndexedTools>) -> Self {
        Self { own, ..Self::default() }
    }

    /// The allowed tools of the provider, and the client's tools.
    pub fn with_allowed(
        own: Arc<IndexedTools>,
        allowed: Option<Vec<bool>>,
        of_client: Vec<Arc<TurnTool>>,
    ) -> Self {
        Self { own, allowed, client_tools: of_client }
    }

    /// The tool that the model calls by this name.
    pub fn find(&self, name: &str) -> Option<&Arc<TurnTool>> {
        let own = self
            .own
            .position_of(name)
            .filter(|&place| self.is_allowed(place))
            .map(|place| &self.own.tools[place]);
        own.or_else(|| self.client_tools.iter().find(|tool| tool.spec.name == name))
    }

    /// The tools to offer: the client's, which came with the request, and the best of the others.
    pub async fn pick_tools(
        &self,
        query: &ToolQuery<'_>,
        used: &[String],
        most: usize,
    ) -> Vec<Arc<ToolSpec>> {
        let room = most.saturating_sub(self.client_tools.len()).max(most.div_ceil(2));
        let own = self.pick_indexed(query, used, room).await.into_iter().map(|place| &self.own.tools[place]);
        own.chain(&self.client_tools).map(|tool| tool.spec.clone()).collect()
    }

    async fn pick_indexed(&self, query: &ToolQuery<'_>, used: &[String], room: usize) -> Vec<usize> {
        let used: Vec<usize> = used.iter().filter_map(|name| self.own.position_of(name)).collect();
        let Some(allowed) = &self.allowed else {
            if self.own.tools.len() <= room {
                return (0..self.own.tools.len()).collect();
            }
            return pick_tools(self.own.index().await, query, &used, room);
        };
        let allows = |place: &usize| allowed.get(*place).copied().unwrap_or(false);
        let mut places: Vec<usize> = (0..self.own.tools.len()).filter(|place| allows(place)).collect();
        if places.len() > room {
            let best = self.own.index().await.search(query, self.own.tools.len());
            let best = best.into_iter().map(|hit| hit.key);
            let mut chosen: Vec<usize> = used.into_iter().chain(best).chain(places).filter(allows).collect();
            let mut seen = HashSet::new();
            chosen.retain(|place| seen.insert(*place));
            chosen.truncate(room);
            chosen.sort_unstable();
            places = chosen;
        }
        places
    }

    fn is_allowed(&self, place: usize) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.get(place).copied().unwrap_or(false))
    }
}
