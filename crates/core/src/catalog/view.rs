//! What one caller can see and call, frozen.

use std::{
    any::Any,
    collections::{HashMap, HashSet},
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use sha2::{Digest, Sha256};
use toolyard_protocol::{
    ErrorCode, PackageName, ToolAlias, ToolName, ToolRef, UserId, api::HiddenTool, mcp::uri, raw::to_raw,
    tool::Category,
};

use super::{
    app::AppEntry,
    filter,
    item::{CatalogItem, McpListKind},
    pages::{self, BadCursor, ListPages, ListedItem},
    template::{self, MatchBudget},
    tool::{CallGauge, Tool},
};
use crate::error::ToolError;

/// A listing as it goes over the wire, prepared once.
#[derive(Debug, Clone)]
pub struct ToolListing {
    /// The JSON body.
    pub body: Bytes,
    /// A strong entity tag of it, quoted.
    pub etag: Arc<str>,
}

impl ToolListing {
    fn new(body: Vec<u8>) -> Self {
        let etag = format!("\"{}\"", hex::encode(&Sha256::digest(&body)[..16])).into();
        Self { body: body.into(), etag }
    }
}

/// Everything that one user can see, whoever asks for that user. Shared and immutable.
#[derive(Debug)]
pub(crate) struct UserView {
    pub(crate) user: UserId,
    pub(crate) apps: Vec<Arc<AppEntry>>,
    /// Which of them are not hidden as a whole.
    shown: Vec<bool>,
    pub(crate) gauge: Arc<CallGauge>,
    tools: Vec<Arc<Tool>>,
    by_name: HashMap<ToolName, usize>,
    by_alias: HashMap<ToolAlias, usize>,
    items: [Vec<Arc<CatalogItem>>; ITEM_KINDS],
    hidden: Vec<HiddenTool>,
    page_size: usize,
    /// One listing a category, and one of all.
    listings: [OnceLock<ToolListing>; Category::ALL.len() + 1],
    /// The lists of the MCP door.
    pages: [ListPages; McpListKind::ALL.len()],
    /// What somebody else makes of this view.
    memo: MemoCell,
}

/// A place for one value of any type.
#[derive(Default)]
pub(super) struct MemoCell(OnceLock<Arc<dyn Any + Send + Sync>>);

impl MemoCell {
    /// The value, made where there is none. Made for the asker alone where there is one of another type.
    pub(super) fn get_or_make<T: Send + Sync + 'static>(&self, make: impl Fn() -> T) -> Arc<T> {
        let made = self.0.get_or_init(|| Arc::new(make())).clone();
        made.downcast().unwrap_or_else(|_other| Arc::new(make()))
    }
}

impl std::fmt::Debug for MemoCell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.get().is_some() { "made" } else { "not made" })
    }
}

/// Prompts, resources, templates.
const ITEM_KINDS: usize = McpListKind::ALL.len() - 1;

/// Where a kind of item stands; tools have a place of their own.
fn item_index(kind: McpListKind) -> Option<usize> {
    match kind {
        McpListKind::Tools => None,
        McpListKind::Prompts => Some(0),
        McpListKind::Resources => Some(1),
        McpListKind::Templates => Some(2),
    }
}

/// Collects a view, tool by tool, in the order in which they will be listed.
pub(crate) struct ViewBuilder {
    view: UserView,
    limits: ViewLimits,
    /// Of all definitions that are shown.
    bytes: usize,
    item_names: HashSet<Arc<str>>,
}

/// Bounds of a view.
#[derive(Debug, Clone, Copy)]
pub struct ViewLimits {
    /// Things in one page of a list of the MCP door.
    pub page_size: usize,
    /// Most tools, and as many prompts, resources and templates each.
    pub tools: usize,
    /// Most bytes of all their definitions together.
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

    /// Whose view it is.
    pub(crate) fn user(&self) -> &UserId {
        &self.view.user
    }

    /// The view depends on this app, shown or not.
    pub(crate) fn depends_on(&mut self, app: &Arc<AppEntry>, shown: bool) {
        self.view.apps.push(app.clone());
        self.view.shown.push(shown);
    }

    /// Hides a tool, and says which one it is: people switch it on again by its title.
    pub(crate) fn hide_tool(&mut self, tool: &Tool, reason: impl Into<String>) {
        self.view.hidden.push(HiddenTool {
            name: tool.name.clone(),
            title: tool.definition.title.clone(),
            description: Some(tool.definition.description.clone()),
            reason: reason.into(),
        });
    }

    /// Names something that is no tool, because its definition cannot be used.
    pub(crate) fn set_aside(&mut self, name: &ToolName, reason: impl Into<String>) {
        let (name, reason) = (name.clone(), reason.into());
        self.view.hidden.push(HiddenTool { name, title: None, description: None, reason });
    }

    /// Shows the prompts, resources and templates of a package: those that are not too many, and whose name is not taken.
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
                tracing::warn!(user = %self.view.user, app = %app.head.package(), name = %item.name, why, "hidden");
            }
        }
    }

    /// Shows a tool, unless an earlier one has its alias (what is advertised under a name is what runs under it) or there is
    /// no room for it. Tools come in a fixed order, so the same ones are shown each time.
    pub(crate) fn show_tool(&mut self, tool: &Arc<Tool>) {
        if let Some(&earlier) = self.view.by_alias.get(&tool.alias) {
            let reason = format!(
                "its alias {} belongs to {}, installed earlier",
                tool.alias, self.view.tools[earlier].name
            );
            return self.hide_tool(tool, reason);
        }
        if let Some(why) = self.limit_reason(self.view.tools.len(), tool.listed.len()) {
            return self.hide_tool(tool, why);
        }
        self.bytes += tool.listed.len();
        self.view.by_name.insert(tool.name.clone(), self.view.tools.len());
        self.view.by_alias.insert(tool.alias.clone(), self.view.tools.len());
        self.view.tools.push(tool.clone());
    }

    /// Why one more definition is too much, if so.
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

/// Which part of a user's tools a caller sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViewScope {
    /// All of them.
    Everything,
    /// Those of one app: what an app without the assistant grant sees.
    Package(PackageName),
}

/// What one caller can see and call, frozen for one step.
#[derive(Debug, Clone)]
pub struct CatalogView {
    pub(crate) all: Arc<UserView>,
    scope: ViewScope,
    /// Which of the tools, where the caller wants some only.
    chosen: Option<Arc<HashSet<ToolName>>>,
}

impl CatalogView {
    pub(crate) fn new(all: Arc<UserView>, scope: ViewScope) -> Self {
        Self { all, scope, chosen: None }
    }

    /// The same view with no other tools than these. For whoever looks through it, the others do not exist.
    pub fn restrict_to(&self, tools: HashSet<ToolName>) -> Self {
        Self { chosen: Some(Arc::new(tools)), ..self.clone() }
    }

    /// The view before tools were chosen from it.
    pub fn without_restriction(&self) -> Self {
        Self { chosen: None, ..self.clone() }
    }

    /// Whether this is all that the user can see, for which some things are prepared.
    fn is_everything(&self) -> bool {
        self.scope == ViewScope::Everything && self.chosen.is_none()
    }

    /// Whose view it is.
    pub fn user(&self) -> &UserId {
        &self.all.user
    }

    /// The tool with that name. Hidden, foreign and missing are the same.
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

    /// Bytes of all definitions of tools of this user.
    pub fn definition_bytes(&self) -> usize {
        self.all.tools.iter().map(|tool| tool.listed.len()).sum()
    }

    /// The tools, in their fixed order.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.all.tools.iter().filter(|tool| self.can_see(&tool.name))
    }

    /// Something that one party makes of this view, made once and gone with it: another form of the list, an index to
    /// search it. For a part of the view it is made each time.
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

    /// The body of a listing with the hidden tools: `{"tools":[…],"hidden":[…]}`. Rare, so made each time.
    pub fn listing_with_hidden(&self, category: Option<Category>) -> ToolListing {
        let tools = self.tools().filter(|tool| category.is_none_or(|c| tool.definition.category() == c));
        let mut body = tools_json(tools);
        body.extend_from_slice(b",\"hidden\":");
        body.extend_from_slice(to_raw(&self.hidden_tools().collect::<Vec<_>>()).get().as_bytes());
        ToolListing::new(close_object(body))
    }

    /// The result of one page of a list of the MCP door.
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

    /// Another number whenever the list is another.
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

    /// Whose resource a URI means, and how its source calls it. The mapped form names the package; the source's own form
    /// is taken where one package alone lists it, or lists a template that makes it.
    pub fn find_resource(&self, wanted: &str) -> Option<(&Arc<AppEntry>, String)> {
        if let Some((package, remote)) = uri::unmap_uri(wanted)
            && let Some(app) = self.packages().find(|app| *app.head.package() == package)
        {
            // What the operator leaves out is not there, whoever knows its name.
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

    /// The packages that are seen, the earliest install first. One whose tools are all hidden is not.
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

    /// Whether a tool of this user is seen through this view.
    pub fn can_see(&self, tool: &ToolName) -> bool {
        self.can_see_package(tool.package())
            && self.chosen.as_ref().is_none_or(|chosen| chosen.contains(tool))
    }

    fn can_see_package(&self, name: &PackageName) -> bool {
        match &self.scope {
            ViewScope::Everything => true,
            ViewScope::Package(package) => name == package,
        }
    }
}

/// Who has something.
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
