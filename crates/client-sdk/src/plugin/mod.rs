//! A plugin: tools and hooks that are registered and removed together.
//!
//! | look for | in |
//! | --- | --- |
//! | what a plugin can do besides its tools | `hooks`, `draft` |
//! | tools of all plugins, and name conflicts | `table` |
//! | registration, and running hooks | `manager`, `hook_runner` |
//! | the tools of one request, frozen | `toolset` |

mod draft;
mod hook_runner;
mod hooks;
mod manager;
mod table;
mod toolset;

use std::{collections::BTreeMap, fmt, sync::Arc};

use toolyard_protocol::chat::ClientTool;

pub use draft::RequestDraft;
pub use hooks::{HookError, Hooks, NoHooks};
pub use manager::{HOOK_TIMEOUT, ManagerSettings, PluginManager, REGISTER_TIMEOUT};
pub use table::PluginTools;
pub(crate) use toolset::ToolSnapshot;

use crate::tool::{Tool, ToolExecutor};

/// Why a plugin or a tool was not registered or removed.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PluginError {
    /// It has no name.
    #[error("a plugin needs a name")]
    NoName,
    /// It has no version.
    #[error("the plugin `{plugin}` needs a version")]
    NoVersion {
        /// The plugin.
        plugin: String,
    },
    /// A plugin of that name is already registered.
    #[error("a plugin `{plugin}` is registered already; unuse it first")]
    Duplicate {
        /// The plugin.
        plugin: String,
    },
    /// A tool cannot be offered to a model.
    #[error("the plugin `{plugin}` cannot be used: {problem}")]
    Tool {
        /// The plugin.
        plugin: String,
        /// Which tool, and what is wrong with it.
        problem: String,
    },
    /// An executor without a tool.
    #[error("the plugin `{plugin}` has an executor for `{tool}`, but no tool of that name")]
    NoTool {
        /// The plugin.
        plugin: String,
        /// The name.
        tool: String,
    },
    /// A tool without an executor.
    #[error(
        "the tool `{tool}` of the plugin `{plugin}` has no executor, and the plugin has no hook for calls"
    )]
    NoExecutor {
        /// The plugin.
        plugin: String,
        /// The tool.
        tool: String,
    },
    /// Two plugins have a tool of the same name.
    #[error("the tool `{tool}` of the plugin `{plugin}` is a tool of the plugin `{other}` already")]
    Conflict {
        /// The plugin that was registered later.
        plugin: String,
        /// The plugin that has the name.
        other: String,
        /// The tool.
        tool: String,
    },
    /// The name is taken, and one of the two tools belongs to no plugin.
    #[error("a tool `{tool}` is registered already, by {by}")]
    Taken {
        /// The tool.
        tool: String,
        /// What has the name.
        by: String,
    },
    /// A tool without a plugin cannot be offered to a model.
    #[error("the tool cannot be used: {problem}")]
    BadTool {
        /// Which tool, and what is wrong with it.
        problem: String,
    },
    /// The plugin's `on_register` failed.
    #[error("the plugin `{plugin}` could not be registered: {why}")]
    RegisterFailed {
        /// The plugin.
        plugin: String,
        /// The error of the hook.
        why: String,
    },
    /// The plugin is removed, but its `on_unregister` failed.
    #[error("the plugin `{plugin}` is not registered any more, but did not end well: {why}")]
    UnregisterFailed {
        /// The plugin.
        plugin: String,
        /// The error of the hook.
        why: String,
    },
    /// The plugin is not registered.
    #[error("no plugin `{plugin}` is registered")]
    Unknown {
        /// The plugin.
        plugin: String,
    },
}

/// A plugin, before it is registered.
pub struct Plugin {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) tools: Vec<ClientTool>,
    pub(crate) executors: BTreeMap<String, ToolExecutor>,
    pub(crate) hooks: Arc<dyn Hooks>,
}

impl Plugin {
    /// The names of its tools.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.name.as_str())
    }

    /// The executor of one of its tools.
    pub fn tool_executor(&self, tool: &str) -> Option<&ToolExecutor> {
        self.executors.get(tool)
    }

    /// A plugin without tools and hooks.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            tools: Vec::new(),
            executors: BTreeMap::new(),
            hooks: Arc::new(NoHooks),
        }
    }

    /// Adds a tool with its executor.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.executors.insert(tool.name().to_owned(), tool.executor().clone());
        self.tools.push(tool.definition().clone());
        self
    }

    /// Adds a tool that a hook or a separate executor runs.
    #[must_use]
    pub fn definition(mut self, tool: ClientTool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds the executor of a tool that is defined separately.
    #[must_use]
    pub fn executor(mut self, tool: impl Into<String>, executor: ToolExecutor) -> Self {
        self.executors.insert(tool.into(), executor);
        self
    }

    /// Sets the hooks, replacing earlier ones.
    #[must_use]
    pub fn hooks(mut self, hooks: impl Hooks + 'static) -> Self {
        self.hooks = Arc::new(hooks);
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.version
    }
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin")
            .field("name", &self.name)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}
