//! The tools of a turn: what can be called, where it runs, and the port through which it is run.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use async_trait::async_trait;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use toolyard_core::{ToolError, executor::Outcome, ports::NoticeSink};

use crate::{
    message::Call,
    model::ToolSpec,
    shortlist::{Query, ToolDocument, ToolIndex, parameters_of, pick, vectors::WordVectors},
};

/// Where a turn's tools come from and run. The server asks the catalog and the one executor; an app asks a server.
#[async_trait]
pub trait Toolset: Send + Sync {
    /// What can be called now. Asked once a step.
    async fn freeze(&self) -> Result<Box<dyn FrozenTools + '_>, ToolError>;
}

/// The tools of one step: what is offered to the model is what can be called.
#[async_trait]
pub trait FrozenTools: Send + Sync {
    /// What is offered.
    fn view(&self) -> &Arc<ToolView>;

    /// Runs a call of a tool that was offered. Ends soon after `cancel` fires.
    async fn call(&self, tool: &Offered, call: &Call, news: NoticeSink, cancel: CancellationToken)
    -> Outcome;

    /// Whether a call that the caller's own client runs can be handed to it as it is.
    async fn check(&self, _tool: &Offered, _call: &Call) -> Result<(), ToolError> {
        Ok(())
    }

    /// Keeps the whole of a call's result that is too long for a model, for a tool to read on in: says with which words
    /// the model gets there. None where nothing reads on.
    fn keep(&self, _call: &Call, _result: &str, _read: usize) -> Option<String> {
        None
    }
}

/// Where a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Behind the [`Toolset`].
    Here,
    /// In the caller's own client, which gets the call and comes back with its result.
    Client,
}

/// A tool that a turn can offer.
#[derive(Debug)]
pub struct Offered {
    /// What the model sees.
    pub spec: Arc<ToolSpec>,
    /// Where it runs.
    pub place: Place,
    /// For people.
    pub about: ToolAbout,
    /// Words after which an assistant may think of it, with their language where it is known.
    pub phrases: Vec<(String, Option<String>)>,
}

/// What people see of a tool while it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolAbout {
    /// `package:tool`; of a client's tool its bare name.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// The app that brings it.
    pub app: Option<String>,
    /// Where the app's picture is.
    pub icon: Option<String>,
}

/// Everything that can be called behind a [`Toolset`], in a fixed order, with the index to choose from it. Made once for as
/// long as nothing changes.
#[derive(Debug, Default)]
pub struct OwnTools {
    tools: Vec<Arc<Offered>>,
    by_name: HashMap<String, usize>,
    vectors: Option<Arc<WordVectors>>,
    index: OnceCell<ToolIndex>,
}

impl OwnTools {
    /// These tools. Where two have one name, the first stays. With `vectors`, meaning counts when some are chosen.
    pub fn new(tools: impl IntoIterator<Item = Arc<Offered>>, vectors: Option<Arc<WordVectors>>) -> Self {
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
    pub fn tools(&self) -> &[Arc<Offered>] {
        &self.tools
    }

    /// The place of the tool of that name.
    pub fn place_of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The index, made when it is first needed: for many tools that is work, so it does not hold up a worker.
    pub async fn index(self: &Arc<Self>) -> &ToolIndex {
        let make = || async {
            let own = self.clone();
            let made = tokio::task::spawn_blocking(move || {
                let documents = own.tools.iter().enumerate().map(|(key, tool)| document(key, tool));
                ToolIndex::build(documents, own.vectors.clone())
            });
            made.await.unwrap_or_else(|_| ToolIndex::build([], None))
        };
        self.index.get_or_init(make).await
    }
}

fn document(key: usize, tool: &Offered) -> ToolDocument<'_> {
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
    own: Arc<OwnTools>,
    /// By place, where not all are allowed.
    allowed: Option<Vec<bool>>,
    of_client: Vec<Arc<Offered>>,
}

impl ToolView {
    /// All tools.
    pub fn all(own: Arc<OwnTools>) -> Self {
        Self { own, ..Self::default() }
    }

    /// Those that are allowed, and the client's.
    pub fn some(own: Arc<OwnTools>, allowed: Option<Vec<bool>>, of_client: Vec<Arc<Offered>>) -> Self {
        Self { own, allowed, of_client }
    }

    /// The tool that the model calls by that name.
    pub fn find(&self, name: &str) -> Option<&Arc<Offered>> {
        let own =
            self.own.place_of(name).filter(|&place| self.allows(place)).map(|place| &self.own.tools[place]);
        own.or_else(|| self.of_client.iter().find(|tool| tool.spec.name == name))
    }

    /// The tools that a model gets to see: the client's, which came with the request, and the best of the others.
    pub async fn pick(&self, query: &Query<'_>, used: &[String], most: usize) -> Vec<Arc<ToolSpec>> {
        let room = most.saturating_sub(self.of_client.len()).max(most.div_ceil(2));
        let own = self.pick_own(query, used, room).await.into_iter().map(|place| &self.own.tools[place]);
        own.chain(&self.of_client).map(|tool| tool.spec.clone()).collect()
    }

    async fn pick_own(&self, query: &Query<'_>, used: &[String], room: usize) -> Vec<usize> {
        let used: Vec<usize> = used.iter().filter_map(|name| self.own.place_of(name)).collect();
        let Some(allowed) = &self.allowed else {
            if self.own.tools.len() <= room {
                return (0..self.own.tools.len()).collect();
            }
            return pick(self.own.index().await, query, &used, room);
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

    fn allows(&self, place: usize) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.get(place).copied().unwrap_or(false))
    }
}
