//! What one caller can see and call, frozen.

use std::{
    any::Any,
    collections::{HashMap, HashSet},
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use sha2::{Digest, Sha256};
use toolyard_protocol::{
    ErrorCode, PackageName, ToolAlias, ToolName, ToolRef, UserId,
    api::{HiddenKind, HiddenTool},
    mcp::uri,
    raw::to_raw,
    tool::Category,
};

use super::{
    app::AppEntry,
    filter,
    item::{CatalogItem, McpListKind},
    pages::{self, BadCursor, ListPages, ListedItem},
    scope::ViewScope,
    template::{self, MatchBudget},
    tool::{CallGauge, Tool},
};
use crate::error::ToolError;

/// A serialized listing, built once.
#[derive(Debug, Clone)]
pub struct ToolListing {
    /// The JSON body.
    pub body: Bytes,
    /// Its strong entity tag, quoted.
    pub etag: Arc<str>,
}

impl ToolListing {
    fn new(body: Vec<u8>) -> Self {
        let etag = format!("\"{}\"", hex::encode(&Sha256::digest(&body)[..16])).into();
        Self { body: body.into(), etag }
    }
}

/// Everything that one user can see, for every caller. Shared and immutable.
#[derive(Debug)]
pub(crate) struct UserView {
    pub(crate) user: UserId,
    pub(crate) apps: Vec<Arc<AppEntry>>,
    /// For each app, whether it is visible.
    shown: Vec<bool>,
    pub(crate) gauge: Arc<CallGauge>,
    tools: Vec<Arc<Tool>>,
    by_name: HashMap<ToolName, usize>,
    by_alias: HashMap<ToolAlias, usize>,
    items: [Vec<Arc<CatalogItem>>; ITEM_KINDS],
    hidden: Vec<HiddenTool>,
    page_size: usize,
    /// One listing for each category, and one of all tools.
    listings: [OnceLock<ToolListing>; Category::ALL.len() + 1],
    /// The MCP lists.
    pages: [ListPages; McpListKind::ALL.len()],
    /// A value that another component derived from this view.
    memo: MemoCell,
}

/// A cell for one value of any type.
#[derive(Default)]
pub(super) struct MemoCell(OnceLock<Arc<dyn Any + Send + Sync>>);

impl MemoCell {
    /// Returns the value, or computes it. If the cell holds a value of another type, the result is not cached.
    pub(super) fn get_or_make<T: Send + Sync + 'static>(&self, make: impl Fn() -> T) -> Arc<T> {
        let made = self.0.get_or_init(|| Arc::new(make())).clone();
        made.downcast().unwrap_or_else(|_other| Arc::new(make()))
    }
}

impl std::fmt::Debug for MemoCell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.get().is_some() { "set" } else { "empty" })
    }
}

/// Prompts, resources, templates.
const ITEM_KINDS: usize = McpListKind::ALL.len() - 1;

/// The index of an item list; tools have their own list.
fn item_index(kind: McpListKind) -> Option<usize> {
    match kind {
        McpListKind::Tools => None,
        McpListKind::Prompts => Some(0),
        McpListKind::Resources => Some(1),
        McpListKind::Templates => Some(2),
    }
}

/// Builds a view, tool by tool, in listing order.
pub(crate) struct ViewBuilder {
    view: UserView,
    limits: ViewLimits,
    /// Total size of all visible definitions.
    bytes: usize,
    item_names: HashSet<Arc<str>>,
}

/// Limits of a view.
#[derive(Debug, Clone, Copy)]
pub struct ViewLimits {
    /// Entries in one page of an MCP list.
    pub page_size: usize,
    /// Most tools; the same limit applies to prompts, resources and templates.
    pub tools: usize,
    /// Total size of all definitions, in bytes.
    pub bytes: usize,
}

impl Default for ViewLimits {
    fn default() -> Self {
        Self { page_size: 100, tools: 5_000, bytes: 32 * 1024 * 1024 }
    }
}

impl ViewBuilder {
    pub(crate) fn new(user: UserId, gauge: Arc<CallGauge>, limits: ViewLimits) -> Self {
        let view = UserView {
            user,
            apps: Vec::new(),
            shown: Vec::new(),
            gauge,
            tools: Vec::new(),
            by_name: HashMap::new(),
            by_alias: HashMap::new(),
            items: Default::default(),
            hidden: Vec::new(),
            page_size: limits.page_size.max(1),
            listings: Default::default(),
            pages: Default::default(),
            memo: MemoCell::default(),
        };
        Self { view, limits, bytes: 0, item_names: HashSet::new() }
    }

    /// The user whose view it is.
    pub(crate) fn user(&self) -> &UserId {
        &self.view.user
    }

    /// Adds an app that the view depends on, visible or not.
    pub(crate) fn depends_on(&mut self, app: &Arc<AppEntry>, shown: bool) {
        self.view.apps.push(app.clone());
        self.view.shown.push(shown);
    }

    /// Hides a tool. Its title stays visible, so that the user can find it and switch it on again.
    pub(crate) fn hide_tool(&mut self, tool: &Tool, kind: HiddenKind, reason: impl Into<String>) {
        self.view.hidden.push(HiddenTool {
            name: tool.name.clone(),
            title: tool.definition.title.clone(),
            description: Some(tool.definition.description.clone()),
            kind,
            reason: reason.into(),
        });
    }

    /// Reports a definition that cannot be used, or that nobody accepted.
    pub(crate) fn set_aside(&mut self, name: &ToolName, kind: HiddenKind, reason: impl Into<String>) {
        let (name, reason) = (name.clone(), reason.into());
        self.view.hidden.push(HiddenTool { name, title: None, description: None, kind, reason });
    }

    /// Shows the prompts, resources and templates of a package, within the limits and if their names are free.
    pub(crate) fn show_items(&mut self, app: &AppEntry) {
        for (place, items) in [&app.prompts, &app.resources, &app.templates].into_iter().enumerate() {
            for item in items {
                let why = match self.limit_reason(self.view.items[place].len(), item.listed.len()) {
                    None if self.item_names.insert(item.name.clone()) => {
                        self.bytes += item.listed.len();
                        self.view.items[place].push(item.clone());
                        continue;
                    }
                    None => "its name is taken".to_owned(),
                    Some(why) => why,
                };
                tracing::warn!(user = %self.view.user, package = %app.head.package(), name = %item.name, reason = why, "item hidden");
            }
        }
    }

    /// Shows a tool, unless an earlier tool has its alias or the view is full. What is advertised under a name must be
    /// what runs under it. Tools are added in a fixed order, so the selection is stable.
    pub(crate) fn show_tool(&mut self, tool: &Arc<Tool>) {
        if let Some(&earlier) = self.view.by_alias.get(&tool.alias) {
            let reason = format!(
                "its alias {} belongs to {}, installed earlier",
                tool.alias, self.view.tools[earlier].name
            );
            return self.hide_tool(tool, HiddenKind::AliasTaken, reason);
        }
        if let Some(why) = self.limit_reason(self.view.tools.len(), tool.listed.len()) {
            return self.hide_tool(tool, HiddenKind::ViewFull, why);
        }
        self.bytes += tool.listed.len();
        self.view.by_name.insert(tool.name.clone(), self.view.tools.len());
        self.view.by_alias.insert(tool.alias.clone(), self.view.tools.len());
        self.view.tools.push(tool.clone());
    }

    /// Why the view cannot take another definition, if so.
    fn limit_reason(&self, shown: usize, bytes: usize) -> Option<String> {
        let limits = &self.limits;
        if shown >= limits.tools {
            return Some(format!("more than {} tools in one view; uninstall some apps", limits.tools));
        }
        (self.bytes + bytes > limits.bytes).then(|| {
            format!("the definitions of one view are larger than {} bytes; uninstall some apps", limits.bytes)
        })
    }

    pub(crate) fn build(self) -> UserView {
        self.view
    }
}

/// What one caller can see and call, frozen for one step.
#[derive(Debug, Clone)]
pub struct CatalogView {
    pub(crate) all: Arc<UserView>,
    scope: ViewScope,
    /// The tools the view is restricted to, if any.
    chosen: Option<Arc<HashSet<ToolName>>>,
}

impl CatalogView {
    pub(crate) fn new(all: Arc<UserView>, scope: ViewScope) -> Self {
        Self { all, scope, chosen: None }
    }

    /// The same view restricted to these tools. Other tools do not exist for its caller.
    pub fn restrict_to(&self, tools: HashSet<ToolName>) -> Self {
        Self { chosen: Some(Arc::new(tools)), ..self.clone() }
    }

    /// The view before [`CatalogView::restrict_to`].
    pub fn without_restriction(&self) -> Self {
        Self { chosen: None, ..self.clone() }
    }

    /// Whether this is the user's whole view, for which results are cached.
    fn is_everything(&self) -> bool {
        self.scope.has_all_packages() && self.chosen.is_none()
    }

    /// The user whose view it is.
    pub fn user(&self) -> &UserId {
        &self.all.user
    }

    /// The tool with that name. Hidden, foreign and missing tools all give the same error.
    pub fn find_tool(&self, name: &ToolRef) -> Result<&Arc<Tool>, ToolError> {
        let index = match name {
            ToolRef::Canonical(name) => self.all.by_name.get(name),
            ToolRef::Alias(alias) => self.all.by_alias.get(alias),
        };
        index.map(|&index| &self.all.tools[index]).filter(|tool| self.can_see(&tool.name)).ok_or_else(|| {
            let text = format!("There is no tool {name} for this user; look at the list of tools again.");
            ToolError::new(ErrorCode::ToolNotFound, text)
        })
    }

    /// Total size of the user's tool definitions, in bytes.
    pub fn definition_bytes(&self) -> usize {
        self.all.tools.iter().map(|tool| tool.listed.len()).sum()
    }

    /// The tools, in their fixed order.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.all.tools.iter().filter(|tool| self.can_see(&tool.name))
    }

    /// A value that a caller derives from this view, such as a search index: computed once and dropped with the view.
    /// For a restricted view it is computed each time.
    pub fn memoize<T: Send + Sync + 'static>(&self, make: impl Fn(&Self) -> T) -> Arc<T> {
        match self.is_everything() {
            true => self.all.memo.get_or_make(|| make(self)),
            false => Arc::new(make(self)),
        }
    }

    /// The hidden tools and why.
    pub fn hidden_tools(&self) -> impl Iterator<Item = &HiddenTool> {
        self.all.hidden.iter().filter(|hidden| self.can_see(&hidden.name))
    }

    /// The body of a listing: `{"tools":[…]}`.
    pub fn listing(&self, category: Option<Category>) -> ToolListing {
        let make = || {
            let tools = self.tools().filter(|tool| category.is_none_or(|c| tool.definition.category() == c));
            ToolListing::new(close_object(tools_json(tools)))
        };
        let place = category.map_or(0, |category| 1 + category as usize);
        match self.all.listings.get(place) {
            Some(prepared) if self.is_everything() => prepared.get_or_init(make).clone(),
            _ => make(),
        }
    }

    /// The body of a listing with the hidden tools: `{"tools":[…],"hidden":[…]}`. Rarely used, so not cached.
    pub fn listing_with_hidden(&self, category: Option<Category>) -> ToolListing {
        let tools = self.tools().filter(|tool| category.is_none_or(|c| tool.definition.category() == c));
        let mut body = tools_json(tools);
        body.extend_from_slice(b",\"hidden\":");
        body.extend_from_slice(to_raw(&self.hidden_tools().collect::<Vec<_>>()).get().as_bytes());
        ToolListing::new(close_object(body))
    }

    /// The result of one page of an MCP list.
    pub fn list_page(&self, kind: McpListKind, cursor: Option<&str>) -> Result<Bytes, BadCursor> {
        let (size, prepared) = (self.all.page_size, &self.all.pages[kind as usize]);
        if let (None, true, Some(first)) = (cursor, self.is_everything(), prepared.first_page()) {
            return Ok(first);
        }
        let all: Vec<ListedItem<'_>> = self.listed_items(kind).collect();
        let start = cursor.map_or(Ok(0), |cursor| pages::decode_cursor(cursor, &all))?;
        Ok(match self.is_everything() {
            true => prepared.get_or_build(kind, &all, start, size),
            false => pages::build_page(kind, &all, start, size),
        })
    }

    /// Changes whenever the list changes.
    pub fn list_fingerprint(&self, kind: McpListKind) -> u64 {
        match self.is_everything() {
            true => self.all.pages[kind as usize].fingerprint(self.listed_items(kind)),
            false => pages::list_fingerprint(self.listed_items(kind)),
        }
    }

    /// The prompt with that alias or canonical name.
    pub fn find_prompt(&self, name: &str) -> Option<&Arc<CatalogItem>> {
        let named = |item: &&Arc<CatalogItem>| {
            &*item.name == name || item.canonical.as_ref().is_some_and(|canonical| canonical.as_str() == name)
        };
        self.items(McpListKind::Prompts).find(named)
    }

    /// The package that owns a URI, and the source's own URI. A mapped URI names its package. A source's own URI is
    /// accepted if exactly one package lists it, or lists a template that matches it.
    pub fn find_resource(&self, wanted: &str) -> Option<(&Arc<AppEntry>, String)> {
        if let Some((package, remote)) = uri::unmap_uri(wanted)
            && let Some(app) = self.packages().find(|app| *app.head.package() == package)
        {
            // What the operator excludes cannot be read, even by its exact URI.
            let taken = app.head.record.upstream().is_none_or(|up| filter::is_readable(&up.details, &remote));
            return taken.then_some((app, remote));
        }
        let listed = self.items(McpListKind::Resources).chain(self.items(McpListKind::Templates));
        let owner = match single_owner(
            listed.filter(|item| &*item.remote == wanted).map(|item| item.app.package()),
        ) {
            ResourceOwner::One(owner) => owner,
            ResourceOwner::Many => return None,
            ResourceOwner::None => {
                let mut budget = MatchBudget::default();
                let made =
                    |item: &&Arc<CatalogItem>| template::matches_template(&item.remote, wanted, &mut budget);
                match single_owner(
                    self.items(McpListKind::Templates).filter(made).map(|item| item.app.package()),
                ) {
                    ResourceOwner::One(owner) => owner,
                    ResourceOwner::None | ResourceOwner::Many => return None,
                }
            }
        };
        let app = self.packages().find(|app| app.head.package() == owner)?;
        let taken = app.head.record.upstream().is_none_or(|up| filter::is_readable(&up.details, wanted));
        taken.then(|| (app, wanted.to_owned()))
    }

    /// The visible packages, the earliest install first.
    pub fn packages(&self) -> impl Iterator<Item = &Arc<AppEntry>> {
        let shown = self.all.apps.iter().zip(&self.all.shown).filter(|(_, shown)| **shown);
        shown.map(|(app, _)| app).filter(|app| self.can_see_package(app.head.package()))
    }

    fn items(&self, kind: McpListKind) -> impl Iterator<Item = &Arc<CatalogItem>> {
        let items = item_index(kind).map(|place| self.all.items[place].as_slice()).unwrap_or_default();
        items.iter().filter(|item| self.can_see_package(item.app.package()))
    }

    fn listed_items(&self, kind: McpListKind) -> impl Iterator<Item = ListedItem<'_>> {
        let (tools, items) = match kind {
            McpListKind::Tools => (Some(self.tools()), None),
            kind => (None, Some(self.items(kind))),
        };
        let tools = tools.into_iter().flatten().map(|tool| (tool.alias.as_str(), tool.for_mcp()));
        tools.chain(items.into_iter().flatten().map(|item| (&*item.name, &item.listed)))
    }

    /// Whether a tool of this user is visible in this view.
    pub fn can_see(&self, tool: &ToolName) -> bool {
        self.can_see_package(tool.package())
            && self.chosen.as_ref().is_none_or(|chosen| chosen.contains(tool))
    }

    fn can_see_package(&self, name: &PackageName) -> bool {
        self.scope.has_package(name)
    }

    /// Refuses a call that the user did not grant to this client.
    pub fn check_access(&self, tool: &Tool) -> Result<(), ToolError> {
        self.scope.check_access(tool)
    }
}

/// The packages that own a resource.
enum ResourceOwner<'a> {
    None,
    One(&'a PackageName),
    Many,
}

fn single_owner<'a>(mut owners: impl Iterator<Item = &'a PackageName>) -> ResourceOwner<'a> {
    let Some(first) = owners.next() else { return ResourceOwner::None };
    if owners.any(|other| other != first) { ResourceOwner::Many } else { ResourceOwner::One(first) }
}

fn tools_json<'a>(tools: impl Iterator<Item = &'a Arc<Tool>>) -> Vec<u8> {
    let mut body = b"{\"tools\":[".to_vec();
    for (index, tool) in tools.enumerate() {
        if index > 0 {
            body.push(b',');
        }
        body.extend_from_slice(&tool.listed);
    }
    body.push(b']');
    body
}

fn close_object(mut body: Vec<u8>) -> Vec<u8> {
    body.push(b'}');
    body
}

#[cfg(test)]
mod tests;
