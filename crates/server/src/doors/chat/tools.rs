//! Which tools a chat gets: those of the user's view that the request selects, then the client's own.

use std::sync::Arc;

use serde_json::Value;
use toolyard_agent::{
    model::ToolSpec,
    shortlist::{ToolQuery, phrases_of, vectors::WordVectors},
    tools::{IndexedTools, ToolDisplay, ToolLocation, ToolView, TurnTool},
};
use toolyard_core::{
    CatalogView, Tool,
    schema::pool::{SET_TIMEOUT, WorkOwner, WorkPool},
};
use toolyard_protocol::{
    ToolAlias, ToolName,
    chat::ClientTool,
    tool::{Category, ToolDefinition},
    visible::{strip_invisible, strip_invisible_value},
};

/// Most bytes of definitions that are read inline. This takes a few milliseconds.
const MAX_INLINE_BYTES: usize = 512 * 1024;

/// The tools that a request selects.
#[derive(Debug, Clone, Default)]
pub(super) struct ChatToolSelection {
    /// Only these categories. Empty allows all.
    pub(super) categories: Vec<Category>,
    /// Only these, by alias or canonical name. `None` allows all.
    pub(super) only: Option<Vec<String>>,
    /// None of these.
    pub(super) without: Vec<String>,
}

impl ChatToolSelection {
    fn is_unrestricted(&self) -> bool {
        self.categories.is_empty() && self.only.is_none() && self.without.is_empty()
    }

    fn allows(&self, tool: &TurnTool, category: Category) -> bool {
        let named =
            |list: &[String]| list.iter().any(|name| *name == tool.spec.name || *name == tool.about.name);
        (self.categories.is_empty() || self.categories.contains(&category))
            && self.only.as_deref().is_none_or(named)
            && !named(&self.without)
    }
}

/// The tools of a view, prepared for chats. Made once per view.
#[derive(Debug)]
pub(crate) struct ViewTools {
    categories: Vec<Category>,
    tools: Vec<Arc<Tool>>,
    own: Arc<IndexedTools>,
    /// All tools, for requests that select nothing.
    all: Arc<ToolView>,
}

impl ViewTools {
    /// Prepares the tools on first use. Large definitions are read on the pool, so that they do not block a worker.
    pub(crate) async fn for_view(view: &CatalogView, vectors: Option<&Arc<WordVectors>>) -> Arc<Self> {
        if view.definition_bytes() > MAX_INLINE_BYTES {
            let (owner, view, vectors) = (WorkOwner::for_user(view.user()), view.clone(), vectors.cloned());
            let make = move || view.memoize(|view| Self::new(view, vectors.as_ref()));
            if let Ok(made) = WorkPool::global().run_within(&owner, SET_TIMEOUT, make).await {
                return made;
            }
        }
        view.memoize(|view| Self::new(view, vectors))
    }

    fn new(view: &CatalogView, vectors: Option<&Arc<WordVectors>>) -> Self {
        // Aliases are unique in a view, so indexes here and in `own` are the same.
        let tools: Vec<Arc<Tool>> = view.tools().cloned().collect();
        let shared = tools.iter().map(|tool| tool.memoize(offered_tool));
        let own = Arc::new(IndexedTools::new(shared, vectors.cloned()));
        let categories = tools.iter().map(|tool| tool.definition.category()).collect();
        let all = Arc::new(ToolView::with_all(own.clone()));
        Self { categories, tools, own, all }
    }

    /// Whether a tool of the server has this name.
    pub(super) fn has_tool(&self, name: &str) -> bool {
        self.own.position_of(name).is_some()
    }

    /// Applies a selection: what the executor can find, and what the model sees.
    pub(super) fn select_tools(
        &self,
        view: CatalogView,
        selection: &ChatToolSelection,
        of_client: &[Arc<TurnTool>],
    ) -> (CatalogView, Arc<ToolView>) {
        if selection.is_unrestricted() {
            let tools = match of_client {
                [] => self.all.clone(),
                own => Arc::new(ToolView::with_allowed(self.own.clone(), None, own.to_vec())),
            };
            return (view, tools);
        }
        let takes = |(tool, category): (&Arc<TurnTool>, &Category)| selection.allows(tool, *category);
        let allowed: Vec<bool> = self.own.tools().iter().zip(&self.categories).map(takes).collect();
        let chosen = self.tools.iter().zip(&allowed).filter(|(_, allowed)| **allowed);
        let view = view.restrict_to(chosen.map(|(tool, _)| tool.name.clone()).collect());
        (view, Arc::new(ToolView::with_allowed(self.own.clone(), Some(allowed), of_client.to_vec())))
    }

    /// The tools that match a query best and are visible in a view.
    pub(crate) async fn search_tools(&self, view: &CatalogView, query: &str, limit: usize) -> Vec<Arc<Tool>> {
        let hits = self.own.index().await.search(&ToolQuery::new(query), self.tools.len());
        let found = hits.into_iter().filter_map(|hit| self.tools.get(hit.key));
        found.filter(|tool| view.can_see(&tool.name)).take(limit).cloned().collect()
    }
}

/// A tool as models get it, before it is adapted to a vendor.
pub(crate) fn tool_spec(name: &ToolName, alias: &ToolAlias, definition: &ToolDefinition) -> ToolSpec {
    let description = match definition.description.as_str() {
        "" => definition.title.clone().unwrap_or_else(|| name.to_string()),
        text => text.to_owned(),
    };
    ToolSpec { name: alias.as_str().to_owned(), description, schema: definition.input_schema() }
}

fn offered_tool(tool: &Tool) -> TurnTool {
    let definition = &tool.definition;
    let details = &tool.app.record.details;
    let app = if details.name.is_empty() { tool.app.package().to_string() } else { details.name.clone() };
    let spec = tool_spec(&tool.name, &tool.alias, definition);
    let about = ToolDisplay {
        name: tool.name.to_string(),
        title: definition.title.clone(),
        app: Some(app),
        icon: details.icon_url.clone(),
    };
    let phrases = definition.extensions.activation_phrases.as_ref().map(phrases_of).unwrap_or_default();
    let phrases = phrases.into_iter().map(|(text, language)| (text.to_owned(), language.map(str::to_owned)));
    TurnTool { spec: Arc::new(spec), place: ToolLocation::Here, about, phrases: phrases.collect() }
}

/// A tool that the caller's own client runs.
pub(super) fn offered_client_tool(tool: &ClientTool) -> Arc<TurnTool> {
    let spec = ToolSpec {
        name: tool.name.clone(),
        description: strip_invisible(&tool.description).into_owned(),
        schema: strip_schema_marks(&tool.parameters),
    };
    let about = ToolDisplay { name: tool.name.clone(), ..ToolDisplay::default() };
    Arc::new(TurnTool { spec: Arc::new(spec), place: ToolLocation::Client, about, phrases: Vec::new() })
}

/// A schema without the `$schema` and `$id` that schema libraries add.
fn strip_schema_marks(schema: &Value) -> Value {
    let mut schema = schema.clone();
    strip_invisible_value(&mut schema);
    if let Value::Object(fields) = &mut schema {
        fields.remove("$schema");
        fields.remove("$id");
    }
    schema
}
