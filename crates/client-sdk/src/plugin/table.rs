//! The tools of all plugins, each name once.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::PluginError;
use crate::tool::Tool;

/// The tools of all plugins, in the order of registration.
#[derive(Debug, Default)]
pub(crate) struct Table {
    plugins: Mutex<Vec<(String, Vec<Tool>)>>,
}

impl Table {
    fn lock(&self) -> MutexGuard<'_, Vec<(String, Vec<Tool>)>> {
        self.plugins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tools of one plugin, which it may change while it is registered. Cheap to clone.
#[derive(Clone)]
pub struct OwnTools {
    plugin: Arc<str>,
    table: Arc<Table>,
}

impl OwnTools {
    /// For a plugin outside any client, as in tests of a plugin.
    pub fn alone(plugin: &str) -> Self {
        let table = Table { plugins: Mutex::new(vec![(plugin.to_owned(), Vec::new())]) };
        Self { plugin: plugin.into(), table: Arc::new(table) }
    }

    /// What the plugin offers now.
    pub fn get(&self) -> Vec<Tool> {
        let plugins = self.table.lock();
        plugins
            .iter()
            .find(|(name, _)| **name == *self.plugin)
            .map(|(_, tools)| tools.clone())
            .unwrap_or_default()
    }

    /// Offers these instead, all or none. Requests under way keep what they had.
    pub fn replace(&self, tools: Vec<Tool>) -> Result<(), PluginError> {
        let plugin = || self.plugin.to_string();
        let mut plugins = self.table.lock();
        for (other, theirs) in plugins.iter().filter(|(name, _)| **name != *self.plugin) {
            if let Some(tool) =
                tools.iter().find(|tool| theirs.iter().any(|their| their.name() == tool.name()))
            {
                let tool = tool.name().to_owned();
                return Err(PluginError::Conflict { plugin: plugin(), other: other.clone(), tool });
            }
        }
        let own = plugins.iter_mut().find(|(name, _)| **name == *self.plugin);
        own.ok_or_else(|| PluginError::Unknown { plugin: plugin() })?.1 = tools;
        Ok(())
    }
}

impl fmt::Debug for OwnTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnTools").field("plugin", &self.plugin).finish_non_exhaustive()
    }
}
