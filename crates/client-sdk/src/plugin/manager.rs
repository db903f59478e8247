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

/// Default timeout of a hook.
pub const HOOK_TIMEOUT: Duration = Duration::from_secs(10);
/// Default timeout of `on_register`: a plugin may have to start programs and connect to them.
pub const REGISTER_TIMEOUT: Duration = Duration::from_secs(120);

/// Settings of a [`PluginManager`].
#[derive(Debug, Clone, Copy)]
pub struct ManagerSettings {
    /// How long a hook may take, except `on_register`.
    pub hook_timeout: Duration,
    /// How long `on_register` may take.
    pub register_timeout: Duration,
    /// The server's limits for client tools.
    pub limits: ClientToolLimits,
    /// Whether each hook and call is logged.
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

/// The plugins of a client, and its tools without a plugin.
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
    /// Whether its `on_tool_call` hook runs its tools.
    handles_calls: bool,
    own: PluginTools,
}

impl PluginManager {
    /// A manager without plugins.
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

    /// Registers a plugin, completely or not at all. Its tools are offered after `on_register` has succeeded.
    pub async fn register(&self, plugin: Plugin) -> Result<(), PluginError> {
        let handles_calls = plugin.hooks.handles_calls();
        let tools = check_plugin(&plugin, handles_calls)?;
        let Plugin { name, hooks, .. } = plugin;
        let reservation = TableReservation { own: self.table.add(&name, tools)?, committed: false };
        let own = reservation.own.clone();
        let registering = run_hook(self.settings.register_timeout, hooks.on_register(&own));
        self.trace_hook(&name, "on_register", registering)
            .await
            .map_err(|error| PluginError::RegisterFailed { plugin: name.clone(), why: error.0 })?;
        self.lock().push(RegisteredPlugin { name, hooks, handles_calls, own });
        reservation.commit();
        Ok(())
    }

    /// Removes a plugin. It is removed even if its hook fails; the failure is still returned.
    pub async fn unregister(&self, name: &str) -> Result<(), PluginError> {
        let found = {
            let mut plugins = self.lock();
            let at = plugins.iter().position(|plugin| plugin.name == name);
            at.map(|at| plugins.remove(at))
        };
        let plugin = found.ok_or_else(|| PluginError::Unknown { plugin: name.to_owned() })?;
        // Its name stays reserved until the hook has ended, even if the caller stops waiting.
        let reservation = TableReservation { own: plugin.own.clone(), committed: false };
        self.table.hide(&reservation.own);
        let leaving = async {
            plugin.hooks.on_unregister().await;
            Ok(())
        };
        let ended =
            self.trace_hook(name, "on_unregister", run_hook(self.settings.hook_timeout, leaving)).await;
        drop(reservation);
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

    /// The definitions of all tools, as models see them.
    pub fn tool_definitions(&self) -> Vec<ClientTool> {
        self.table.offered_tools().iter().map(|(_, tool)| tool.definition().clone()).collect()
    }

    /// Whether a tool of that name can run.
    pub fn has_executor(&self, tool: &str) -> bool {
        self.toolset().has_tool(tool)
    }

    /// Runs a call with the hook of its plugin or its executor, without a timeout.
    pub async fn run_call(&self, call: &ToolCall, cx: &ToolContext) -> Result<Value, ToolError> {
        self.toolset().run_call(call, cx).await
    }

    /// The tools that are offered now.
    pub(crate) fn toolset(&self) -> ToolSnapshot {
        let plugins = self.registered_plugins();
        let offered = self.table.offered_tools().into_iter().map(|(name, tool)| {
            let plugin = plugins.iter().find(|plugin| *plugin.name == *name);
            let hook = plugin.filter(|plugin| plugin.handles_calls).map(|plugin| plugin.hooks.clone());
            OfferedTool { tool, hook }
        });
        ToolSnapshot::new(offered.collect())
    }

    /// Lets each plugin change a request, in the order of registration. Returns the name of the first plugin that fails.
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

    /// Passes an answer to each plugin, even if some of them fail. Returns the failures with the names of the plugins.
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

    /// Runs a hook and logs it: failures always, successes in debug mode.
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
                let duration_ms = begun.elapsed().as_millis();
                tracing::debug!(target: TRACE_TARGET, plugin, hook, duration_ms, "plugin hook finished");
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(target: TRACE_TARGET, plugin, hook, %error, "plugin hook failed"),
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
    /// Adds the entry of the tools that belong to no plugin.
    fn add_program_tools(self: &Arc<Self>) -> PluginTools {
        match self.add(NO_PLUGIN, Vec::new()) {
            Ok(own) => {
                self.go_live(&own);
                own
            }
            // Cannot happen: the table is empty, and no tools are added.
            Err(_) => PluginTools::detached(NO_PLUGIN),
        }
    }
}

/// A plugin's entry in the table. Dropping it removes the entry unless it was committed, so that a cancelled registration or
/// removal leaves nothing behind.
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

/// Checks a plugin by itself and returns its tools.
fn check_plugin(plugin: &Plugin, handles_calls: bool) -> Result<Vec<Tool>, PluginError> {
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
        let executor = executor_for(&plugin.executors, &definition.name, handles_calls);
        let executor = executor
            .ok_or_else(|| PluginError::NoExecutor { plugin: name(), tool: definition.name.clone() })?;
        Ok(Tool::new(definition.clone(), executor))
    });
    tools.collect()
}

/// The executor of a tool. If the hook runs the tool, the executor is the fallback for calls that the hook leaves.
fn executor_for(
    executors: &BTreeMap<String, ToolExecutor>,
    tool: &str,
    handles_calls: bool,
) -> Option<ToolExecutor> {
    if let Some(executor) = executors.get(tool) {
        return Some(executor.clone());
    }
    let text = format!("no hook or executor ran the tool `{tool}`");
    let unrun: ToolExecutor =
        Arc::new(move |_, _| Box::pin(std::future::ready(Err(ToolError(text.clone())))));
    handles_calls.then_some(unrun)
}
