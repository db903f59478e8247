//! The tools of a turn: what can be called, where it runs, and the port through which it is run.

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

/// Where a turn's tools come from and run. The server asks the catalog and the one executor; an app asks a server.
#[async_trait]
pub trait ToolProvider: Send + Sync {
    /// What can be called now. Asked once a step.
    async fn freeze(&self) -> Result<Box<dyn FrozenTools + '_>, ToolError>;
}

/// The tools of one step: what is offered to the model is what can be called.
#[async_trait]
pub trait FrozenTools: Send + Sync {
    /// What is offered.
    fn view(&self) -> &Arc<ToolView>;

    /// Runs a call of a tool that was offered. Ends soon after `cancel` fires.
    async fn call(
        &self,
        tool: &TurnTool,
        call: &ModelToolCall,
        news: NoticeSink,
        cancel: CancellationToken,
    ) -> CallOutcome;

    /// Whether a call that the caller's own client runs can be handed to it as it is.
    async fn check_client_call(&self, _tool: &TurnTool, _call: &ModelToolCall) -> Result<(), ToolError> {
        Ok(())
    }

    /// Keeps the whole of a call's result that is too long for a model, for a tool to read on in: says with which words
    /// the model gets there. None where nothing reads on.
    fn store_full_result(&self, _call: &ModelToolCall, _result: &str, _read: usize) -> Option<String> {
        None
    }
}

/// Where a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolLocation {
    /// Behind the [`ToolProvider`].
    Here,
    /// In the caller's own client, which gets the call and comes back with its result.
    Client,
}

/// A tool that a turn can offer.
#[derive(Debug)]
pub struct TurnTool {
    /// What the model sees.
    pub spec: Arc<ToolSpec>,
    /// Where it runs.
    pub place: ToolLocation,
    /// For people.
    pub about: ToolDisplay,
    /// Words after which an assistant may think of it, with their language where it is known.
    pub phrases: Vec<(String, Option<String>)>,
}

/// What people see of a tool while it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolDisplay {
    /// `package:tool`; of a client's tool its bare name.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// The app that brings it.
    pub app: Option<String>,
    /// Where the app's picture is.
    pub icon: Option<String>,
}

/// Everything that can be called behind a [`ToolProvider`], in a fixed order, with the index to choose from it. Made once for as
/// long as nothing changes.
#[derive(Debug, Default)]
pub struct IndexedTools {
    tools: Vec<Arc<TurnTool>>,
    by_name: HashMap<String, usize>,
    vectors: Option<Arc<WordVectors>>,
    index: OnceCell<ToolIndex>,
}

impl IndexedTools {
    /// These tools. Where two have one name, the first stays. With `vectors`, meaning counts when some are chosen.
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

    /// All of them.
    pub fn tools(&self) -> &[Arc<TurnTool>] {
        &self.tools
    }

    /// The place of the tool of that name.
    pub fn position_of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The index, made when it is first needed: for many tools that is work, so it does not hold up a worker.
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

/// What can be called in one step, frozen: all or some of the own tools, and those of the client.
#[derive(Debug, Default)]
pub struct ToolView {
    own: Arc<IndexedTools>,
    /// By place, where not all are allowed.
    allowed: Option<Vec<bool>>,
    client_tools: Vec<Arc<TurnTool>>,
}

impl ToolView {
    /// All tools.
    pub fn with_all(own: Arc<IndexedTools>) -> Self {
        Self { own, ..Self::default() }
    }

    /// Those that are allowed, and the client's.
    pub fn with_allowed(
        own: Arc<IndexedTools>,
        allowed: Option<Vec<bool>>,
        of_client: Vec<Arc<TurnTool>>,
    ) -> Self {
        Self { own, allowed, client_tools: of_client }
    }

    /// The tool that the model calls by that name.
    pub fn find(&self, name: &str) -> Option<&Arc<TurnTool>> {
        let own = self
            .own
            .position_of(name)
            .filter(|&place| self.is_allowed(place))
            .map(|place| &self.own.tools[place]);
        own.or_else(|| self.client_tools.iter().find(|tool| tool.spec.name == name))
    }

    /// The tools that a model gets to see: the client's, which came with the request, and the best of the others.
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
