//! Registers plugins, keeps their order, and runs their hooks.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tokio::time::Instant;
use toolyard_protocol::chat::{ClientTool, ClientToolLimits};

use super::{
    HookError, Hooks, Plugin, PluginError, PluginTools, RequestDraft, ToolSnapshot,
    hook_runner::run_hook,
    table::{NO_PLUGIN, ToolTable},
    toolset::OfferedTool,
};
use crate::{
    TRACE_TARGET,
    chat::ChatAnswer,
    tool::{Tool, ToolCall, ToolContext, ToolError, ToolExecutor},
};

/// How long a hook may take.
pub const HOOK_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a plugin may take to get ready: it may have to start programs and connect to them.
pub const REGISTER_TIMEOUT: Duration = Duration::from_secs(120);

/// How a [`PluginManager`] treats its plugins.
#[derive(Debug, Clone, Copy)]
pub struct ManagerSettings {
    /// How long a hook may take, `on_register` aside.
    pub hook_timeout: Duration,
    /// How long `on_register` may take.
    pub register_timeout: Duration,
    /// The bounds of the server for tools of clients.
    pub limits: ClientToolLimits,
    /// Whether each hook and call is traced.
    pub debug: bool,
}

impl Default for ManagerSettings {
    fn default() -> Self {
        Self {
            hook_timeout: HOOK_TIMEOUT,
            register_timeout: REGISTER_TIMEOUT,
            limits: ClientToolLimits::default(),
            debug: false,
        }
    }
}

/// The plugins of a client, and the tools that belong to none.
pub struct PluginManager {
    table: Arc<ToolTable>,
    plugins: Mutex<Vec<RegisteredPlugin>>,
    /// Tools without a plugin.
    own: PluginTools,
    settings: ManagerSettings,
}

#[derive(Clone)]
struct RegisteredPlugin {
    name: String,
    hooks: Arc<dyn Hooks>,
    /// Whether its hook runs its tools.
    handles_calls: bool,
    own: PluginTools,
}

impl PluginManager {
    /// Without plugins.
    pub fn new(settings: ManagerSettings) -> Self {
        let table = Arc::new(ToolTable::new(settings.limits));
        let own = table.add_program_tools();
        Self { table, plugins: Mutex::default(), own, settings }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<RegisteredPlugin>> {
        self.plugins.lock()
    }

    fn registered_plugins(&self) -> Vec<RegisteredPlugin> {
        self.lock().clone()
    }

    /// Registers a tool that belongs to no plugin.
    pub fn register_tool(&self, tool: Tool) -> Result<(), PluginError> {
        self.own.add(tool)
    }

    /// Registers a plugin, all of it or nothing. Its tools are offered once `on_register` has ended well.
    pub async fn register(&self, plugin: Plugin) -> Result<(), PluginError> {
        let by_hook = plugin.hooks.handles_calls();
        let tools = check_plugin(&plugin, by_hook)?;
        let Plugin { name, hooks, .. } = plugin;
        let room = TableReservation { own: self.table.add(&name, tools)?, committed: false };
        let own = room.own.clone();
        let registering = run_hook(self.settings.register_timeout, hooks.on_register(&own));
        self.trace_hook(&name, "on_register", registering)
            .await
            .map_err(|error| PluginError::RegisterFailed { plugin: name.clone(), why: error.0 })?;
        self.lock().push(RegisteredPlugin { name, hooks, handles_calls: by_hook, own });
        room.commit();
        Ok(())
    }

    /// Takes a plugin away. It is gone even if its hook fails, which is told all the same.
    pub async fn unregister(&self, name: &str) -> Result<(), PluginError> {
        let found = {
            let mut plugins = self.lock();
            let at = plugins.iter().position(|plugin| plugin.name == name);
            at.map(|at| plugins.remove(at))
        };
        let plugin = found.ok_or_else(|| PluginError::Unknown { plugin: name.to_owned() })?;
        // Its name stays taken until it has ended, even if nobody waits for that.
        let room = TableReservation { own: plugin.own.clone(), committed: false };
        self.table.hide(&room.own);
        let leaving = async {
            plugin.hooks.on_unregister().await;
            Ok(())
        };
        let ended =
            self.trace_hook(name, "on_unregister", run_hook(self.settings.hook_timeout, leaving)).await;
        drop(room);
        ended.map_err(|error| PluginError::UnregisterFailed { plugin: name.to_owned(), why: error.0 })
    }

    /// Whether a plugin of that name is registered.
    pub fn has_plugin(&self, name: &str) -> bool {
        self.lock().iter().any(|plugin| plugin.name == name)
    }

    /// The names of all plugins, in the order of registration.
    pub fn plugin_names(&self) -> Vec<String> {
        self.lock().iter().map(|plugin| plugin.name.clone()).collect()
    }

    /// All tools, as models are told of them.
    pub fn tool_definitions(&self) -> Vec<ClientTool> {
        self.table.offered_tools().iter().map(|(_, tool)| tool.definition().clone()).collect()
    }

    /// Whether there is somebody who would run a tool of that name.
    pub fn has_executor(&self, tool: &str) -> bool {
        self.toolset().has_tool(tool)
    }

    /// Runs a call: by the hook of its plugin, or its executor. Without a time limit.
    pub async fn run_call(&self, call: &ToolCall, cx: &ToolContext) -> Result<Value, ToolError> {
        self.toolset().run_call(call, cx).await
    }

    /// The tools as they are now.
    pub(crate) fn toolset(&self) -> ToolSnapshot {
        let plugins = self.registered_plugins();
        let offered = self.table.offered_tools().into_iter().map(|(name, tool)| {
            let plugin = plugins.iter().find(|plugin| *plugin.name == *name);
            let hook = plugin.filter(|plugin| plugin.handles_calls).map(|plugin| plugin.hooks.clone());
            OfferedTool { tool, hook }
        });
        ToolSnapshot::new(offered.collect())
    }

    /// Lets each plugin change a request, in the order of registration. The first that fails is named.
    pub async fn before_request(&self, mut draft: RequestDraft) -> Result<RequestDraft, (String, HookError)> {
        for plugin in self.registered_plugins() {
            let hook = run_hook(self.settings.hook_timeout, plugin.hooks.before_request(draft));
            draft = self
                .trace_hook(&plugin.name, "before_request", hook)
                .await
                .map_err(|error| (plugin.name.clone(), error))?;
        }
        Ok(draft)
    }

    /// Tells each plugin of an answer. Those that fail are named; the others are told all the same.
    pub async fn after_response(&self, answer: &ChatAnswer) -> Vec<(String, HookError)> {
        let mut failed = Vec::new();
        for plugin in self.registered_plugins() {
            let hook = run_hook(self.settings.hook_timeout, plugin.hooks.after_response(answer));
            if let Err(error) = self.trace_hook(&plugin.name, "after_response", hook).await {
                failed.push((plugin.name, error));
            }
        }
        failed
    }

    /// Runs a hook, and says so where somebody wants to know.
    async fn trace_hook<T>(
        &self,
        plugin: &str,
        hook: &str,
        running: impl Future<Output = Result<T, HookError>>,
    ) -> Result<T, HookError> {
        let begun = Instant::now();
        let outcome = running.await;
        match &outcome {
            Ok(_) if self.settings.debug => {
                tracing::debug!(target: TRACE_TARGET, plugin, hook, took = ?begun.elapsed(), "a hook ran");
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(target: TRACE_TARGET, plugin, hook, %error, "a hook failed"),
        }
        outcome
    }
}

impl fmt::Debug for PluginManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginManager").field("plugins", &self.plugin_names()).finish_non_exhaustive()
    }
}

impl ToolTable {
    /// The entry of tools that belong to no plugin.
    fn add_program_tools(self: &Arc<Self>) -> PluginTools {
        match self.add(NO_PLUGIN, Vec::new()) {
            Ok(own) => {
                self.go_live(&own);
                own
            }
            // Nothing was there before and nothing is added, so nothing can be wrong.
            Err(_) => PluginTools::detached(NO_PLUGIN),
        }
    }
}

/// The place of a plugin in the table. Given back when dropped, unless it is kept: a registration or a goodbye that nobody
/// waits for any more leaves nothing behind.
struct TableReservation {
    own: PluginTools,
    committed: bool,
}

impl TableReservation {
    fn commit(mut self) {
        self.own.table().go_live(&self.own);
        self.committed = true;
    }
}

impl Drop for TableReservation {
    fn drop(&mut self) {
        if !self.committed {
            self.own.table().remove(&self.own);
        }
    }
}

/// What is wrong with a plugin by itself, or its tools.
fn check_plugin(plugin: &Plugin, by_hook: bool) -> Result<Vec<Tool>, PluginError> {
    if plugin.name.trim().is_empty() {
        return Err(PluginError::NoName);
    }
    let name = || plugin.name.clone();
    if plugin.version.trim().is_empty() {
        return Err(PluginError::NoVersion { plugin: name() });
    }
    let has_tool = |tool: &String| plugin.tools.iter().any(|definition| definition.name == *tool);
    if let Some(tool) = plugin.executors.keys().find(|tool| !has_tool(tool)) {
        return Err(PluginError::NoTool { plugin: name(), tool: tool.clone() });
    }
    let tools = plugin.tools.iter().map(|definition| {
        let executor = executor_for(&plugin.executors, &definition.name, by_hook);
        let executor = executor
            .ok_or_else(|| PluginError::NoExecutor { plugin: name(), tool: definition.name.clone() })?;
        Ok(Tool::new(definition.clone(), executor))
    });
    tools.collect()
}

/// Where the hook runs a tool, its executor is what is left when the hook did not.
fn executor_for(
    executors: &BTreeMap<String, ToolExecutor>,
    tool: &str,
    by_hook: bool,
) -> Option<ToolExecutor> {
    if let Some(executor) = executors.get(tool) {
        return Some(executor.clone());
    }
    let text = format!("nobody ran the tool `{tool}`");
    let unrun: ToolExecutor =
        Arc::new(move |_, _| Box::pin(std::future::ready(Err(ToolError(text.clone())))));
    by_hook.then_some(unrun)
}
