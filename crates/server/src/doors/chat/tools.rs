//! Which tools a chat gets: those of the user's view, chosen by the request, then the client's own.

use std::sync::Arc;

use serde_json::Value;
use toolyard_agent::{
    model::ToolSpec,
    shortlist::{Query, phrases_of, vectors::WordVectors},
    tools::{Offered, OwnTools, Place, ToolAbout, ToolView},
};
use toolyard_core::{
    CatalogView, Tool,
    schema::pool::{SET_TIMEOUT, WorkOwner, WorkPool},
};
use toolyard_protocol::{
    Alias, ToolName,
    chat::ClientTool,
    tool::{Category, ToolDefinition},
    visible::{make_visible, visible},
};

/// Most bytes of definitions that are read where they are asked for: some milliseconds.
const MAX_INLINE_BYTES: usize = 512 * 1024;

/// What a request asks for.
#[derive(Debug, Clone, Default)]
pub(super) struct Selection {
    /// Only of these categories; empty is all.
    pub(super) categories: Vec<Category>,
    /// Only these, by alias or canonical name; missing is all.
    pub(super) only: Option<Vec<String>>,
    /// None of these.
    pub(super) without: Vec<String>,
}

impl Selection {
    fn is_everything(&self) -> bool {
        self.categories.is_empty() && self.only.is_none() && self.without.is_empty()
    }

    fn takes(&self, tool: &Offered, category: Category) -> bool {
        let named =
            |list: &[String]| list.iter().any(|name| *name == tool.spec.name || *name == tool.about.name);
        (self.categories.is_empty() || self.categories.contains(&category))
            && self.only.as_deref().is_none_or(named)
            && !named(&self.without)
    }
}

/// The tools of a view in the form of a chat, made once per view.
#[derive(Debug)]
pub(crate) struct ViewTools {
    categories: Vec<Category>,
    tools: Vec<Arc<Tool>>,
    own: Arc<OwnTools>,
    /// All of them, for requests that choose nothing.
    all: Arc<ToolView>,
}

impl ViewTools {
    /// Made where there are none yet: on the pool where the definitions are large, so that it does not hold up a worker.
    pub(crate) async fn of(view: &CatalogView, vectors: Option<&Arc<WordVectors>>) -> Arc<Self> {
        if view.bytes() > MAX_INLINE_BYTES {
            let (owner, view, vectors) = (WorkOwner::user(view.user()), view.clone(), vectors.cloned());
            let make = move || view.once(|view| Self::new(view, vectors.as_ref()));
            if let Ok(made) = WorkPool::shared().run_within(&owner, SET_TIMEOUT, make).await {
                return made;
            }
        }
        view.once(|view| Self::new(view, vectors))
    }

    fn new(view: &CatalogView, vectors: Option<&Arc<WordVectors>>) -> Self {
        // Aliases are unique in a view, so places here are places there.
        let tools: Vec<Arc<Tool>> = view.tools().cloned().collect();
        let shared = tools.iter().map(|tool| tool.once(offered));
        let own = Arc::new(OwnTools::new(shared, vectors.cloned()));
        let categories = tools.iter().map(|tool| tool.definition.category()).collect();
        let all = Arc::new(ToolView::all(own.clone()));
        Self { categories, tools, own, all }
    }

    /// Whether a tool of the server has this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.own.place_of(name).is_some()
    }

    /// What one request gets of a view: what the model sees, and what the executor finds.
    pub(super) fn select(
        &self,
        view: CatalogView,
        selection: &Selection,
        of_client: &[Arc<Offered>],
    ) -> (CatalogView, Arc<ToolView>) {
        if selection.is_everything() {
            let tools = match of_client {
                [] => self.all.clone(),
                own => Arc::new(ToolView::some(self.own.clone(), None, own.to_vec())),
            };
            return (view, tools);
        }
        let takes = |(tool, category): (&Arc<Offered>, &Category)| selection.takes(tool, *category);
        let allowed: Vec<bool> = self.own.tools().iter().zip(&self.categories).map(takes).collect();
        let chosen = self.tools.iter().zip(&allowed).filter(|(_, allowed)| **allowed);
        let view = view.choose(chosen.map(|(tool, _)| tool.name.clone()).collect());
        (view, Arc::new(ToolView::some(self.own.clone(), Some(allowed), of_client.to_vec())))
    }

    /// The tools that fit some words best, of those that are seen through a view.
    pub(crate) async fn search(&self, view: &CatalogView, words: &str, most: usize) -> Vec<Arc<Tool>> {
        let hits = self.own.index().await.search(&Query::new(words), self.tools.len());
        let found = hits.into_iter().filter_map(|hit| self.tools.get(hit.key));
        found.filter(|tool| view.sees(&tool.name)).take(most).cloned().collect()
    }
}

/// A tool as models get it, before it is made to fit a vendor.
pub(crate) fn spec_of(name: &ToolName, alias: &Alias, definition: &ToolDefinition) -> ToolSpec {
    let description = match definition.description.as_str() {
        "" => definition.title.clone().unwrap_or_else(|| name.to_string()),
        text => text.to_owned(),
    };
    ToolSpec { name: alias.as_str().to_owned(), description, schema: definition.input_schema() }
}

fn offered(tool: &Tool) -> Offered {
    let definition = &tool.definition;
    let details = &tool.app.record.details;
    let app = if details.name.is_empty() { tool.app.package().to_string() } else { details.name.clone() };
    let spec = spec_of(&tool.name, &tool.alias, definition);
    let about = ToolAbout {
        name: tool.name.to_string(),
        title: definition.title.clone(),
        app: Some(app),
        icon: details.icon_url.clone(),
    };
    let phrases = definition.extensions.activation_phrases.as_ref().map(phrases_of).unwrap_or_default();
    let phrases = phrases.into_iter().map(|(text, language)| (text.to_owned(), language.map(str::to_owned)));
    Offered { spec: Arc::new(spec), place: Place::Here, about, phrases: phrases.collect() }
}

/// A tool that the caller's own client runs.
pub(super) fn of_client(tool: &ClientTool) -> Arc<Offered> {
    let spec = ToolSpec {
        name: tool.name.clone(),
        description: visible(&tool.description).into_owned(),
        schema: without_marks(&tool.parameters),
    };
    let about = ToolAbout { name: tool.name.clone(), ..ToolAbout::default() };
    Arc::new(Offered { spec: Arc::new(spec), place: Place::Client, about, phrases: Vec::new() })
}

/// A schema without the marks that schema libraries put at its root.
fn without_marks(schema: &Value) -> Value {
    let mut schema = schema.clone();
    make_visible(&mut schema);
    if let Value::Object(fields) = &mut schema {
        fields.remove("$schema");
        fields.remove("$id");
    }
    schema
}
