//! A package with everything it brings, loaded once per revision: an app with its tools, an upstream with its last
//! offer, or a user's plugin.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use jiff::Timestamp;
use serde_json::{Value, value::RawValue};
use toolyard_protocol::{
    PackageName, Problem, ToolAlias, ToolName, UserId,
    items::AppItems,
    mcp::{mirrored, uri},
    raw::RawFields,
    tool::{MAX_TOOLS, ToolDefinition},
    upstream::{UpstreamDetails, UpstreamIssue},
};

use super::{
    MAX_INLINE_LOAD_BYTES, filter,
    item::{CatalogItem, McpListKind},
    tool::{AppHead, CallGauge, Tool},
};
use crate::{
    pinning::{HeldTool, PinnedPages},
    ports::{AppRecord, PackageOrigin, StoredOffer, StoredToolSet, UserPlugin},
    schema::{
        CompiledSchema,
        pool::{SET_TIMEOUT, WorkOwner, WorkPool},
        shared,
    },
};

/// The key of a catalog entry. Most entries are shared by all users. An upstream with per-user authorization has one
/// entry for each user, and a plugin belongs to one user.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct EntryKey {
    pub(crate) package: PackageName,
    pub(crate) user: Option<UserId>,
}

/// A package and its definitions, in the order in which they were published.
#[derive(Debug)]
pub struct AppEntry {
    /// The part that all tools and items of the package share.
    pub head: Arc<AppHead>,
    /// The tools.
    pub tools: Vec<Arc<Tool>>,
    /// The prompts.
    pub prompts: Vec<Arc<CatalogItem>>,
    /// The resources.
    pub resources: Vec<Arc<CatalogItem>>,
    /// The resource templates.
    pub templates: Vec<Arc<CatalogItem>>,
    /// Definitions that cannot be used, and why.
    pub set_aside: Vec<UpstreamIssue>,
    /// Tools that nobody accepted yet, and why.
    pub held: Vec<UpstreamIssue>,
    /// Definitions that were changed before use, and why.
    pub warnings: Vec<UpstreamIssue>,
    /// When an upstream's lists were last read.
    pub listed_at: Option<Timestamp>,
    /// Whether it supports argument completion.
    pub completes: bool,
    /// Whether it sends notifications when a resource changes.
    pub subscribes: bool,
    /// Users who have another version of this entry: they accepted changes for themselves, or own the app.
    pub(crate) separate_users: HashSet<UserId>,
    pub(crate) key: EntryKey,
}

impl AppEntry {
    fn new(head: Arc<AppHead>, user: Option<UserId>) -> Self {
        Self {
            key: EntryKey { package: head.package().clone(), user },
            head,
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            set_aside: Vec::new(),
            held: Vec::new(),
            warnings: Vec::new(),
            listed_at: None,
            completes: false,
            subscribes: false,
            separate_users: HashSet::new(),
        }
    }

    /// Builds the entry of an app from its stored tools, prompts and resources.
    pub(crate) fn from_app(
        record: AppRecord,
        revision: u64,
        gauge: Arc<CallGauge>,
        set: Option<&StoredToolSet>,
    ) -> Self {
        let has_resources = set.is_some_and(|set| set.items.has_resources());
        let pages = PinnedPages::default();
        let mut entry = Self::new(Arc::new(AppHead { record, revision, gauge, has_resources, pages }), None);
        let Some(set) = set else { return entry };
        // Stored sets were validated on publish. If an older version accepted a bad tool, drop that tool and keep the
        // app.
        for (index, raw) in set.tools.iter().enumerate() {
            match ToolDefinition::parse(raw, &format!("tools[{index}]")) {
                Ok(definition) => entry.add_tool(Tool::new(&entry.head, definition)),
                Err(problems) => entry.reject(format!("tools[{index}]"), join_problems(&problems)),
            }
        }
        entry.add_items(McpListKind::Prompts, &set.items.prompts, |_| None);
        entry.add_items(McpListKind::Resources, &set.items.resources, |_| None);
        entry.add_items(McpListKind::Templates, &set.items.resource_templates, |_| None);
        entry
    }

    /// Builds the entry of an upstream from its last offer. Invalid tools are set aside; the others stay.
    pub(crate) fn from_upstream(
        record: AppRecord,
        revision: u64,
        gauge: Arc<CallGauge>,
        user: Option<UserId>,
        stored: Option<StoredOffer>,
        pages: PinnedPages,
    ) -> Self {
        let details = record.upstream().map(|upstream| upstream.details.clone()).unwrap_or_default();
        let head = AppHead { record, revision, gauge, has_resources: true, pages };
        let mut entry = Self::new(Arc::new(head), user);
        let Some(StoredOffer { offer, at, .. }) = stored else { return entry };
        (entry.listed_at, entry.completes, entry.subscribes) = (Some(at), offer.completes, offer.subscribes);
        for why in offer.incomplete {
            entry.reject("*".to_owned(), why);
        }
        let mut names = HashSet::new();
        for (index, raw) in offer.tools.iter().enumerate() {
            match read_tool(&entry.head, &details, raw) {
                _ if entry.tools.len() >= MAX_TOOLS => {
                    entry.reject(
                        display_name(raw, index, McpListKind::Tools),
                        format!("more than {MAX_TOOLS} tools"),
                    );
                }
                Ok(tool) if !names.insert(tool.name.clone()) => {
                    entry.reject(tool.name.local_name().to_owned(), "duplicate tool name".to_owned());
                }
                Ok(tool) => entry.add_if_usable(tool),
                Err(why) => entry.reject(display_name(raw, index, McpListKind::Tools), why),
            }
        }
        let refused =
            |item: &CatalogItem| filter::exclusion_reason(&details, &item.remote).map(str::to_owned);
        entry.add_items(McpListKind::Prompts, &offer.prompts, refused);
        entry.add_items(McpListKind::Resources, &offer.resources, refused);
        entry.add_items(McpListKind::Templates, &offer.templates, refused);
        entry
    }

    /// Builds the entry of a user's plugin.
    pub(crate) fn from_plugin(
        plugin: UserPlugin,
        revision: u64,
        gauge: Arc<CallGauge>,
        user: UserId,
    ) -> Self {
        let record = AppRecord {
            owner: user.as_str().to_owned(),
            package: plugin.package,
            details: plugin.details,
            origin: PackageOrigin::Plugin(plugin.hash),
            assistant: false,
            tools_version: 1,
            tool_count: plugin.tools.len() as u64,
            created_at: plugin.at,
            updated_at: plugin.at,
        };
        let pages = PinnedPages::default();
        let head = AppHead { record, revision, gauge, has_resources: false, pages };
        let mut entry = Self::new(Arc::new(head), Some(user));
        for (index, raw) in plugin.tools.iter().enumerate() {
            match ToolDefinition::parse(raw, "tool") {
                Ok(definition) => entry.add_if_usable(Tool::new(&entry.head, definition)),
                Err(problems) => {
                    entry.reject(display_name(raw, index, McpListKind::Tools), join_problems(&problems));
                }
            }
        }
        entry
    }

    /// Adds one list of items. Invalid items are set aside; the others stay.
    fn add_items(
        &mut self,
        kind: McpListKind,
        raws: &[Box<RawValue>],
        refused: impl Fn(&CatalogItem) -> Option<String>,
    ) {
        let mut names = HashSet::new();
        let mut taken = Vec::new();
        for (index, raw) in raws.iter().enumerate() {
            let read = read_item(&self.head, kind, raw);
            match read.and_then(|item| refused(&item).map_or(Ok(item), Err)) {
                _ if taken.len() >= MAX_TOOLS => {
                    self.reject(display_name(raw, index, kind), format!("more than {MAX_TOOLS}"));
                }
                Ok(item) if names.insert(item.name.clone()) => taken.push(Arc::new(item)),
                Ok(item) => self.reject(item.remote.to_string(), "duplicate name".to_owned()),
                Err(why) => self.reject(display_name(raw, index, kind), why),
            }
        }
        match kind {
            McpListKind::Prompts => self.prompts = taken,
            McpListKind::Resources => self.resources = taken,
            McpListKind::Templates | McpListKind::Tools => self.templates = taken,
        }
    }

    /// Adds a tool that was not validated on publish. A tool whose schemas are known to be unusable is rejected.
    fn add_if_usable(&mut self, tool: Tool) {
        match tool.known_fault() {
            Some(problem) => self.reject(tool.name.local_name().to_owned(), unusable_reason(&problem)),
            None => self.add_tool(tool),
        }
    }

    fn add_tool(&mut self, tool: Tool) {
        let removed = tool.definition.invisible_chars;
        if removed > 0 {
            let reason = format!("{removed} invisible characters were removed from its texts");
            tracing::warn!(tool = %tool.name, removed, "invisible characters removed");
            self.warnings.push(UpstreamIssue { name: tool.name.local_name().to_owned(), reason });
        }
        self.tools.push(Arc::new(tool));
    }

    /// Reports tools that are held back until someone accepts them.
    pub(crate) fn hold_back(&mut self, held: Vec<HeldTool>) {
        self.held.extend(held.into_iter().map(|held| UpstreamIssue { name: held.name, reason: held.reason }));
    }

    fn reject(&mut self, name: String, reason: String) {
        tracing::warn!(package = %self.head.package(), name, reason, "definition set aside");
        self.set_aside.push(UpstreamIssue { name, reason });
    }
}

/// Why a tool is hidden, for its owner.
pub(super) fn unusable_reason(problem: &Problem) -> String {
    format!("it cannot be called: {problem}")
}

/// Precompiles, on the pool, the schemas of definitions that were not validated on publish. If the pool is busy the
/// tools are shown, and the first call reports a bad schema.
pub(super) async fn precheck_schemas(package: &PackageName, tools: &[Box<RawValue>]) {
    let tools: Vec<Box<RawValue>> = tools.iter().take(MAX_TOOLS).cloned().collect();
    let is_small = tools.iter().map(|raw| raw.get().len()).sum::<usize>() <= MAX_INLINE_LOAD_BYTES;
    let is_known =
        |schema: &Value| shared::schema_digest(schema).is_none_or(|it| shared::known_verdict(&it).is_some());
    if is_small && tools.iter().flat_map(|raw| schemas_in(raw)).all(|(_, schema)| is_known(&schema)) {
        return;
    }
    let judge = move || {
        for (path, schema) in tools.iter().flat_map(|raw| schemas_in(raw)) {
            shared::precheck_schema(&schema, path);
        }
    };
    let owner = WorkOwner::for_package(package);
    if let Err(error) = WorkPool::global().run_within(&owner, SET_TIMEOUT, judge).await {
        tracing::warn!(%package, %error, "schema precheck failed");
    }
}

/// The schemas of a definition, each with its path.
fn schemas_in(raw: &RawValue) -> impl Iterator<Item = (&'static str, Value)> {
    let definition = ToolDefinition::parse(raw, "tool").ok();
    let output = definition.as_ref().and_then(ToolDefinition::output_schema);
    let input = definition.map(|definition| ("inputSchema", definition.input_schema()));
    input.into_iter().chain(output.map(|schema| ("outputSchema", schema)))
}

fn read_tool(app: &Arc<AppHead>, details: &UpstreamDetails, raw: &RawValue) -> Result<Tool, String> {
    let definition = ToolDefinition::parse(raw, "tool").map_err(|problems| join_problems(&problems))?;
    let remote = definition.name.as_str().to_owned();
    if let Some(why) = filter::exclusion_reason(details, &remote) {
        return Err(why.to_owned());
    }
    mirrored::mirrored_parameters(&definition.input_schema())?;
    let definition = match details.rename.get(&remote) {
        Some(name) => definition.with_name(name.parse().map_err(|error| format!("renamed: {error}"))?),
        None => definition,
    };
    let definition = match details.category {
        Some(category) => definition.with_category(category),
        None => definition,
    };
    Ok(Tool::with_remote_name(app, definition, &remote))
}

fn read_item(app: &Arc<AppHead>, kind: McpListKind, raw: &RawValue) -> Result<CatalogItem, String> {
    match kind {
        McpListKind::Prompts => CatalogItem::parse_prompt(app, raw),
        McpListKind::Resources => CatalogItem::parse_resource(app, raw),
        McpListKind::Templates | McpListKind::Tools => CatalogItem::parse_template(app, raw),
    }
}

/// The name to report for an unusable definition: its own name if valid, otherwise its index.
fn display_name(raw: &RawValue, index: usize, kind: McpListKind) -> String {
    let fields: RawFields = serde_json::from_str(raw.get()).unwrap_or_default();
    let name = fields.parse_field::<String>("name").and_then(Result::ok);
    let fits = |name: &String| name.parse::<toolyard_protocol::LocalName>().is_ok() && !name.contains(':');
    name.filter(fits).unwrap_or_else(|| format!("{}[{index}]", kind.member_name()))
}

fn join_problems(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
}

/// The listed URI of a package's UI resource.
pub(super) fn ui_uri(app: &AppHead, found: &str) -> Option<String> {
    app.has_resources.then(|| uri::map_uri(app.package(), found)).flatten()
}

/// Reports the tools of a set whose alias already belongs to another tool.
pub fn alias_clashes(
    package: &PackageName,
    definitions: &[ToolDefinition],
    owners: &HashMap<ToolAlias, ToolName>,
) -> Vec<Problem> {
    let names = definitions.iter().map(|tool| ToolName::new(package, &tool.name)).enumerate();
    let clashes = names.filter_map(|(index, name)| {
        let alias = name.alias();
        let owner = owners.get(&alias).filter(|owner| **owner != name)?;
        let message =
            format!("its alias {alias} belongs to {owner}, which had it first; choose another name");
        Some(Problem::new(format!("tools[{index}].name"), message))
    });
    clashes.collect()
}

/// [`validate_tool_set`] on the pool, because the sender decides how large a set is.
pub async fn validate_tool_set_on_pool(
    package: &PackageName,
    tools: &[Box<RawValue>],
    items: &AppItems,
) -> Result<Vec<ToolDefinition>, Vec<Problem>> {
    let (tools, items) = (tools.to_vec(), items.clone());
    let owner = WorkOwner::for_package(package);
    let checked =
        WorkPool::global().run_within(&owner, SET_TIMEOUT, move || validate_tool_set(&tools, &items)).await;
    checked.unwrap_or_else(|error| Err(vec![Problem::new("tools", format!("cannot be checked: {error}"))]))
}

/// Parses a tool set and compiles its schemas. Returns all problems at once, or the definitions.
pub fn validate_tool_set(
    tools: &[Box<RawValue>],
    items: &AppItems,
) -> Result<Vec<ToolDefinition>, Vec<Problem>> {
    let (definitions, mut problems) = match ToolDefinition::parse_set(tools) {
        Ok(definitions) => (definitions, Vec::new()),
        Err(problems) => (Vec::new(), problems),
    };
    for (index, tool) in definitions.iter().enumerate() {
        let at = |member: &str| format!("tools[{index}].{member}");
        let input = tool.input_schema();
        problems.extend(CompiledSchema::compile(&input, &at("inputSchema")).err());
        let output = tool.output_schema();
        problems
            .extend(output.and_then(|schema| CompiledSchema::compile(&schema, &at("outputSchema")).err()));
        problems.extend(
            mirrored::mirrored_parameters(&input).err().map(|why| Problem::new(at("inputSchema"), why)),
        );
    }
    problems.extend(items.problems());
    problems.truncate(toolyard_protocol::tool::MAX_PROBLEMS);
    if problems.is_empty() { Ok(definitions) } else { Err(problems) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolyard_protocol::raw::to_raw;

    use super::*;

    #[test]
    fn a_tool_whose_alias_another_one_had_first_is_named() {
        let package: PackageName = "com.a-b".parse().unwrap();
        let tools =
            ["pay", "ask"].map(|name| to_raw(&json!({ "name": name, "inputSchema": { "type": "object" } })));
        let definitions = validate_tool_set(&tools, &AppItems::default()).unwrap();
        let [pay, ask] = ["com.a-b:pay", "com.a-b:ask"].map(|name| name.parse::<ToolName>().unwrap());
        let victim: ToolName = "com.victim-b:pay".parse().unwrap();
        let owners = HashMap::from([(pay.alias(), victim), (ask.alias(), ask.clone())]);
        let problems = alias_clashes(&package, &definitions, &owners);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].path, "tools[0].name");
        assert!(problems[0].message.contains("belongs to com.victim-b:pay"), "{problems:?}");
    }

    /// Measures the memory that definitions take: `cargo test -p toolyard-core --lib memory -- --ignored --nocapture`.
    #[test]
    #[ignore = "prints what it measured"]
    fn memory_of_definitions() {
        let resident = || {
            let text = std::fs::read_to_string("/proc/self/statm").unwrap();
            text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
        };
        let property = |at: usize| {
            (
                format!("field_{at}"),
                json!({ "type": "string", "description": "What it is, in some words.", "maxLength": 200 }),
            )
        };
        let properties: serde_json::Map<_, _> = (0..20).map(property).collect();
        let schema = json!({ "type": "object", "properties": properties, "required": ["field_1"] });
        let tool = |at: usize| {
            to_raw(
                &json!({ "name": format!("tool_{at}"), "description": "Does something useful.", "inputSchema": schema,
                "outputSchema": schema }),
            )
        };
        let tools: Vec<_> = (0..5_000).map(tool).collect();
        let bytes: usize = tools.iter().map(|tool| tool.get().len()).sum();
        let set = StoredToolSet { items: AppItems::default(), hash: String::new(), by: String::new(), tools };
        let record = AppRecord {
            owner: String::new(),
            package: "com.a".parse().unwrap(),
            details: Default::default(),
            origin: PackageOrigin::Builtin,
            assistant: false,
            tools_version: 1,
            tool_count: 0,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        let before = resident();
        let entry = AppEntry::from_app(record, 1, Arc::default(), Some(&set));
        let held = resident() - before;
        assert_eq!(entry.tools.len(), 5_000);
        println!("{bytes} bytes of definitions take {held} bytes: {:.1} times", held as f64 / bytes as f64);
    }
}
