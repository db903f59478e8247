//! The tools of a turn: what can be called, where it runs, and the port through which it is run.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use toolyard_core::{ToolError, executor::Outcome, ports::NoticeSink};

use crate::{message::Call, model::ToolSpec};

/// Where a turn's tools come from and run. The server asks the catalog and the one executor; an app asks a server.
#[async_trait]
pub trait Toolset: Send + Sync {
    /// What can be called now. Asked once a step, and what is offered to the model is what can be called in that step.
    async fn freeze(&self) -> Result<Arc<ToolView>, ToolError>;

    /// Runs a call of a tool that was offered. Ends soon after `cancel` fires.
    async fn call(&self, tool: &Offered, call: &Call, news: NoticeSink, cancel: CancellationToken)
    -> Outcome;

    /// Keeps the whole of a result that is too long for a model, for a tool to read on in: says with which words the
    /// model gets there. None where nothing reads on.
    fn keep(&self, _result: &str, _read: usize) -> Option<String> {
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

/// What can be called, frozen.
#[derive(Debug, Default)]
pub struct ToolView {
    tools: Vec<Arc<Offered>>,
    by_name: HashMap<String, usize>,
}

impl ToolView {
    /// A view of these tools. Where two have one name, the first stays.
    pub fn new(tools: impl IntoIterator<Item = Arc<Offered>>) -> Self {
        let mut view = Self::default();
        for tool in tools {
            if !view.by_name.contains_key(&tool.spec.name) {
                view.by_name.insert(tool.spec.name.clone(), view.tools.len());
                view.tools.push(tool);
            }
        }
        view
    }

    /// The tool that the model calls by that name.
    pub fn find(&self, name: &str) -> Option<&Arc<Offered>> {
        self.by_name.get(name).map(|&place| &self.tools[place])
    }

    /// All of them, in a fixed order.
    pub fn tools(&self) -> &[Arc<Offered>] {
        &self.tools
    }
}
