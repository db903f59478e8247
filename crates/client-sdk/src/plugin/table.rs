//! The tools of all plugins, with unique names and within the limits of the server.

use std::{fmt, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use toolyard_protocol::chat::{ClientTool, ClientToolLimits, client_tool};

use super::PluginError;
use crate::tool::Tool;

/// The entry of the tools that belong to no plugin. No plugin can have that name.
pub(crate) const NO_PLUGIN: &str = "";

/// The tools of all plugins, in the order of registration.
#[derive(Debug)]
pub(crate) struct ToolTable {
    entries: Mutex<TableEntries>,
    limits: ClientToolLimits,
}

#[derive(Debug, Default)]
struct TableEntries {
    list: Vec<PluginEntry>,
    last_id: u64,
}

#[derive(Debug)]
struct PluginEntry {
    /// Distinguishes a plugin from an earlier one of the same name.
    id: u64,
    plugin: Arc<str>,
    tools: Vec<Tool>,
    /// Whether its tools are offered. Not before its registration is complete.
    live: bool,
}

impl ToolTable {
    pub(crate) fn new(limits: ClientToolLimits) -> Self {
        Self { entries: Mutex::default(), limits }
    }

    fn lock(&self) -> MutexGuard<'_, TableEntries> {
        self.entries.lock()
    }

    /// Adds a plugin with its first tools, all or none.
    pub(crate) fn add(self: &Arc<Self>, plugin: &str, tools: Vec<Tool>) -> Result<PluginTools, PluginError> {
        let mut entries = self.lock();
        if entries.list.iter().any(|entry| *entry.plugin == *plugin) {
            return Err(PluginError::Duplicate { plugin: plugin.to_owned() });
        }
        let id = entries.last_id + 1;
        self.check_tools(&entries.list, id, plugin, &tools)?;
        entries.last_id = id;
        let plugin: Arc<str> = plugin.into();
        entries.list.push(PluginEntry { id, plugin: plugin.clone(), tools, live: false });
        Ok(PluginTools { id, plugin, table: self.clone() })
    }

    /// Starts to offer its tools.
    pub(crate) fn go_live(&self, own: &PluginTools) {
        self.set_live(own, true);
    }

    /// Stops offering its tools.
    pub(crate) fn hide(&self, own: &PluginTools) {
        self.set_live(own, false);
    }

    fn set_live(&self, own: &PluginTools, live: bool) {
        for entry in self.lock().list.iter_mut().filter(|entry| entry.id == own.id) {
            entry.live = live;
        }
    }

    pub(crate) fn remove(&self, own: &PluginTools) {
        self.lock().list.retain(|entry| entry.id != own.id);
    }

    /// All offered tools, each with its plugin.
    pub(crate) fn offered_tools(&self) -> Vec<(Arc<str>, Tool)> {
        let entries = self.lock();
        let live = entries.list.iter().filter(|entry| entry.live);
        live.flat_map(|entry| entry.tools.iter().map(|tool| (entry.plugin.clone(), tool.clone()))).collect()
    }

    /// Checks whether these tools may replace those of the entry.
    fn check_tools(
        &self,
        entries: &[PluginEntry],
        id: u64,
        plugin: &str,
        tools: &[Tool],
    ) -> Result<(), PluginError> {
        let others = || entries.iter().filter(|entry| entry.id != id);
        for entry in others() {
            if let Some(tool) =
                tools.iter().find(|tool| entry.tools.iter().any(|other| other.name() == tool.name()))
            {
                return Err(conflict_error(plugin, &entry.plugin, tool.name()));
            }
        }
        // The limits apply to all tools of a request together.
        let all: Vec<ClientTool> = others()
            .flat_map(|entry| &entry.tools)
            .chain(tools)
            .map(|tool| tool.definition().clone())
            .collect();
        client_tool::check_client_tools(&all, &self.limits, |_| false).map_err(|problem| match plugin {
            NO_PLUGIN => PluginError::BadTool { problem: problem.to_string() },
            _ => PluginError::Tool { plugin: plugin.to_owned(), problem: problem.to_string() },
        })
    }
}

fn conflict_error(plugin: &str, other: &str, tool: &str) -> PluginError {
    let tool = tool.to_owned();
    match (plugin, other) {
        (_, NO_PLUGIN) => PluginError::Taken { tool, by: "this program".to_owned() },
        (NO_PLUGIN, other) => PluginError::Taken { tool, by: format!("the plugin `{other}`") },
        (plugin, other) => PluginError::Conflict { plugin: plugin.to_owned(), other: other.to_owned(), tool },
    }
}

/// The tools of one plugin. It may change them while it is registered. Cheap to clone.
#[derive(Clone)]
pub struct PluginTools {
    id: u64,
    plugin: Arc<str>,
    table: Arc<ToolTable>,
}

impl PluginTools {
    /// The tools of a plugin outside any client, for tests of a plugin.
    pub fn detached(plugin: &str) -> Self {
        let plugin: Arc<str> = plugin.into();
        let table = ToolTable::new(ClientToolLimits::default());
        table.lock().list.push(PluginEntry { id: 0, plugin: plugin.clone(), tools: Vec::new(), live: true });
        Self { id: 0, plugin, table: Arc::new(table) }
    }

    /// The tools that the plugin offers now.
    pub fn get(&self) -> Vec<Tool> {
        let entries = self.table.lock();
        entries
            .list
            .iter()
            .find(|entry| entry.id == self.id)
            .map(|entry| entry.tools.clone())
            .unwrap_or_default()
    }

    /// Replaces the tools, all or none. Running requests keep the old ones. Fails if the plugin is not registered any more, even if
    /// another one has its name now.
    pub fn replace(&self, tools: Vec<Tool>) -> Result<(), PluginError> {
        self.update(|_| Ok(tools))
    }

    /// Adds a tool.
    pub(crate) fn add(&self, tool: Tool) -> Result<(), PluginError> {
        self.update(|own| match own.iter().any(|own| own.name() == tool.name()) {
            true => Err(conflict_error(&self.plugin, &self.plugin, tool.name())),
            false => Ok(own.iter().cloned().chain([tool]).collect()),
        })
    }

    /// Reads and writes under one lock, so that no other change happens in between.
    fn update(&self, to: impl FnOnce(&[Tool]) -> Result<Vec<Tool>, PluginError>) -> Result<(), PluginError> {
        let mut entries = self.table.lock();
        let place = entries.list.iter().position(|entry| entry.id == self.id);
        let place = place.ok_or_else(|| PluginError::Unknown { plugin: self.plugin.to_string() })?;
        let tools = to(&entries.list[place].tools)?;
        self.table.check_tools(&entries.list, self.id, &self.plugin, &tools)?;
        entries.list[place].tools = tools;
        Ok(())
    }

    pub(crate) fn table(&self) -> &ToolTable {
        &self.table
    }
}

impl fmt::Debug for PluginTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnTools").field("plugin", &self.plugin).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::tool::{ToolContext, create_dynamic_tool};

    fn tool(name: &str) -> Tool {
        create_dynamic_tool(
            name,
            "d",
            json!({ "type": "object" }),
            |_: Map<String, Value>, _: ToolContext| async { Ok::<_, String>(1) },
        )
    }

    fn names(table: &ToolTable) -> Vec<String> {
        table.offered_tools().iter().map(|(_, tool)| tool.name().to_owned()).collect()
    }

    fn table() -> Arc<ToolTable> {
        Arc::new(ToolTable::new(ClientToolLimits { tools: 3, ..ClientToolLimits::default() }))
    }

    #[test]
    fn tools_are_offered_after_their_plugin_is_registered() {
        let table = table();
        let own = table.add("p", vec![tool("a")]).unwrap();
        assert_eq!(names(&table), [""; 0]);
        own.replace(vec![tool("b"), tool("c")]).unwrap();
        table.go_live(&own);
        assert_eq!(names(&table), ["b", "c"]);
        table.remove(&own);
        assert_eq!(names(&table), [""; 0]);
    }

    #[test]
    fn a_removed_plugin_does_not_change_the_tools_of_its_successor() {
        let table = table();
        let old = table.add("p", vec![]).unwrap();
        table.remove(&old);
        let new = table.add("p", vec![tool("a")]).unwrap();
        table.go_live(&new);
        assert_eq!(old.replace(vec![tool("b")]), Err(PluginError::Unknown { plugin: "p".to_owned() }));
        assert_eq!((names(&table), old.get().len()), (vec!["a".to_owned()], 0));
    }

    #[test]
    fn the_limits_apply_to_all_plugins_together_and_to_later_changes() {
        let table = table();
        let own = table.add("p", vec![tool("a"), tool("b")]).unwrap();
        let other = table.add("q", vec![tool("c")]).unwrap();
        let many = other.replace(vec![tool("c"), tool("d")]).unwrap_err().to_string();
        assert!(many.contains("plugin `q`") && many.contains("4 tools; at most 3"), "{many}");
        assert_eq!(other.get().len(), 1, "all or none");
        let taken = other.replace(vec![tool("a")]).unwrap_err();
        assert_eq!(
            taken,
            PluginError::Conflict { plugin: "q".to_owned(), other: "p".to_owned(), tool: "a".to_owned() }
        );
        assert!(
            own.replace(vec![tool("a"), tool("a")]).unwrap_err().to_string().contains("two of that name")
        );
        assert!(own.replace(vec![tool("1a")]).unwrap_err().to_string().contains("must begin with a letter"));
    }
}
