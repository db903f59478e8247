//! Registers plugins, keeps their order, and runs their hooks.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::time::Instant;
use toolyard_protocol::chat::{ClientTool, ClientToolLimits};

use super::{
    Draft, HookError, Hooks, OwnTools, Plugin, PluginError, Toolset,
    bounded::bounded,
    table::{NO_PLUGIN, Table},
    toolset::Offered,
};
use crate::{
    TRACE_TARGET,
    chat::Answer,
    tool::{Call, Executor, Tool, ToolContext, ToolError},
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
    table: Arc<Table>,
    plugins: Mutex<Vec<Registered>>,
    /// Tools without a plugin.
    own: OwnTools,
    settings: ManagerSettings,
}

#[derive(Clone)]
struct Registered {
    name: String,
    hooks: Arc<dyn Hooks>,
    /// Whether its hook runs its tools.
    by_hook: bool,
    own: OwnTools,
}

impl PluginManager {
    /// Without plugins.
    pub fn new(settings: ManagerSettings) -> Self {
        let table = Arc::new(Table::new(settings.limits));
        let own = table.own();
        Self { table, plugins: Mutex::default(), own, settings }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Registered>> {
        self.plugins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn registered(&self) -> Vec<Registered> {
        self.lock().clone()
    }

    /// Registers a tool that belongs to no plugin.
    pub fn register_tool(&self, tool: Tool) -> Result<(), PluginError> {
        self.own.add(tool)
    }

    /// Registers a plugin, all of it or nothing. Its tools are offered once `on_register` has ended well.
    pub async fn register(&self, plugin: Plugin) -> Result<(), PluginError> {
        let by_hook = plugin.hooks.handles_calls();
        let tools = check(&plugin, by_hook)?;
        let Plugin { name, hooks, .. } = plugin;
        let room = Room { own: self.table.add(&name, tools)?, kept: false };
        let own = room.own.clone();
        let registering = bounded(self.settings.register_timeout, hooks.on_register(&own));
        self.traced(&name, "on_register", registering)
            .await
            .map_err(|error| PluginError::Refused { plugin: name.clone(), why: error.0 })?;
        self.lock().push(Registered { name, hooks, by_hook, own });
        room.keep();
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
        let room = Room { own: plugin.own.clone(), kept: false };
        self.table.hide(&room.own);
        let leaving = async {
            plugin.hooks.on_unregister().await;
            Ok(())
        };
        let ended = self.traced(name, "on_unregister", bounded(self.settings.hook_timeout, leaving)).await;
        drop(room);
        ended.map_err(|error| PluginError::Left { plugin: name.to_owned(), why: error.0 })
    }

    /// Whether a plugin of that name is registered.
    pub fn has(&self, name: &str) -> bool {
        self.lock().iter().any(|plugin| plugin.name == name)
    }

    /// The names of all plugins, in the order of registration.
    pub fn names(&self) -> Vec<String> {
        self.lock().iter().map(|plugin| plugin.name.clone()).collect()
    }

    /// All tools, as models are told of them.
    pub fn definitions(&self) -> Vec<ClientTool> {
        self.table.offered().iter().map(|(_, tool)| tool.definition().clone()).collect()
    }

    /// Whether there is somebody who would run a tool of that name.
    pub fn has_executor(&self, tool: &str) -> bool {
        self.toolset().has(tool)
    }

    /// Runs a call: by the hook of its plugin, or its executor. Without a time limit.
    pub async fn run(&self, call: &Call, cx: &ToolContext) -> Result<Value, ToolError> {
        self.toolset().run(call, cx).await
    }

    /// The tools as they are now.
    pub(crate) fn toolset(&self) -> Toolset {
        let plugins = self.registered();
        let offered = self.table.offered().into_iter().map(|(name, tool)| {
            let plugin = plugins.iter().find(|plugin| *plugin.name == *name);
            let hook = plugin.filter(|plugin| plugin.by_hook).map(|plugin| plugin.hooks.clone());
            Offered { tool, hook }
        });
        Toolset::new(offered.collect())
    }

    /// Lets each plugin change a request, in the order of registration. The first that fails is named.
    pub async fn before_request(&self, mut draft: Draft) -> Result<Draft, (String, HookError)> {
        for plugin in self.registered() {
            let hook = bounded(self.settings.hook_timeout, plugin.hooks.before_request(draft));
            draft = self
                .traced(&plugin.name, "before_request", hook)
                .await
                .map_err(|error| (plugin.name.clone(), error))?;
        }
        Ok(draft)
    }

    /// Tells each plugin of an answer. Those that fail are named; the others are told all the same.
    pub async fn after_response(&self, answer: &Answer) -> Vec<(String, HookError)> {
        let mut failed = Vec::new();
        for plugin in self.registered() {
            let hook = bounded(self.settings.hook_timeout, plugin.hooks.after_response(answer));
            if let Err(error) = self.traced(&plugin.name, "after_response", hook).await {
                failed.push((plugin.name, error));
            }
        }
        failed
    }

    /// Runs a hook, and says so where somebody wants to know.
    async fn traced<T>(
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
        f.debug_struct("PluginManager").field("plugins", &self.names()).finish_non_exhaustive()
    }
}

impl Table {
    /// The entry of tools that belong to no plugin.
    fn own(self: &Arc<Self>) -> OwnTools {
        match self.add(NO_PLUGIN, Vec::new()) {
            Ok(own) => {
                self.go_live(&own);
                own
            }
            // Nothing was there before and nothing is added, so nothing can be wrong.
            Err(_) => OwnTools::alone(NO_PLUGIN),
        }
    }
}

/// The place of a plugin in the table. Given back when dropped, unless it is kept: a registration or a goodbye that nobody
/// waits for any more leaves nothing behind.
struct Room {
    own: OwnTools,
    kept: bool,
}

impl Room {
    fn keep(mut self) {
        self.own.table().go_live(&self.own);
        self.kept = true;
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if !self.kept {
            self.own.table().remove(&self.own);
        }
    }
}

/// What is wrong with a plugin by itself, or its tools.
fn check(plugin: &Plugin, by_hook: bool) -> Result<Vec<Tool>, PluginError> {
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
        let executor = executor_of(&plugin.executors, &definition.name, by_hook);
        let executor = executor
            .ok_or_else(|| PluginError::NoExecutor { plugin: name(), tool: definition.name.clone() })?;
        Ok(Tool::new(definition.clone(), executor))
    });
    tools.collect()
}

/// Where the hook runs a tool, its executor is what is left when the hook did not.
fn executor_of(executors: &BTreeMap<String, Executor>, tool: &str, by_hook: bool) -> Option<Executor> {
    if let Some(executor) = executors.get(tool) {
        return Some(executor.clone());
    }
    let text = format!("nobody ran the tool `{tool}`");
    let unrun: Executor = Arc::new(move |_, _| Box::pin(std::future::ready(Err(ToolError(text.clone())))));
    by_hook.then_some(unrun)
}
