//! Judges a stored plugin at each load, not only when it was installed. If nothing changed since, the cached verdict is
//! used.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, value::RawValue};
use toolyard_core::ports::{InstalledPlugin, UserPlugin};
use toolyard_protocol::{
    PackageName,
    app::AppDetails,
    plugin::{Manifest, PluginId, PluginPermissions, PluginTool},
    raw::to_raw,
};
use toolyard_trust::{PluginJudge, PluginVerdict, TrustStatus};

use super::switched_off_reason;

/// Prefix of the package names of plugins.
const PREFIX: &str = "plugin.";

/// A plugin and its current verdict.
#[derive(Debug, Clone)]
pub struct LoadedPlugin {
    /// The stored row.
    pub row: InstalledPlugin,
    /// Its manifest, if it can be read.
    pub manifest: Option<Arc<Manifest>>,
    /// Its verdict, if it can be judged.
    pub verdict: Option<PluginVerdict>,
    /// What it may do: the intersection of what the signature allows, what the manifest requests and what the user
    /// granted.
    pub permissions: PluginPermissions,
    /// Why it does not run, if so.
    pub hidden: Option<String>,
}

/// The plugin id of a package.
pub(super) fn plugin_id(package: &PackageName) -> Option<PluginId> {
    package.as_str().strip_prefix(PREFIX)?.parse().ok()
}

pub(super) fn load_plugin(row: InstalledPlugin, judge: &dyn PluginJudge, now: Timestamp) -> LoadedPlugin {
    let mut loaded = LoadedPlugin {
        row,
        manifest: None,
        verdict: None,
        permissions: PluginPermissions::default(),
        hidden: None,
    };
    match judge.judge_text(&loaded.row.manifest, Some(&loaded.row.hash), now) {
        Err(why) => loaded.hidden = Some(format!("modified: {why}")),
        // The row belongs to this id, and the signature of the older form does not cover it.
        Ok(judged) if judged.manifest.id != loaded.row.id => {
            loaded.hidden = Some("modified: it has the id of another plugin".to_owned());
        }
        Ok(judged) => {
            let verdict = judged.verdict.clone();
            loaded.hidden = refusal_reason(&verdict).or_else(|| switched_off_reason(&loaded.row.switch));
            if verdict.runs {
                loaded.permissions = verdict.permissions.intersect(&loaded.row.granted);
            }
            (loaded.manifest, loaded.verdict) = (Some(judged.manifest.clone()), Some(verdict));
        }
    }
    loaded
}

/// Why a verdict prevents the plugin from running: the status in one word, and the reason.
pub(super) fn refusal_reason(verdict: &PluginVerdict) -> Option<String> {
    (!verdict.runs).then(|| format!("{}: {}", status_word(&verdict.status), verdict.reason))
}

/// A status in words.
fn status_word(status: &TrustStatus) -> &'static str {
    match status {
        TrustStatus::Signed { .. } => "signed",
        TrustStatus::Unsigned => "unsigned",
        TrustStatus::Modified => "modified",
        TrustStatus::UnknownKey => "unknown key",
        TrustStatus::Revoked => "revoked",
        TrustStatus::Expired => "expired",
    }
}

impl LoadedPlugin {
    /// The plugin as the catalog sees it. `None` if its package name is invalid.
    pub(super) fn into_user_plugin(self) -> Option<UserPlugin> {
        let package = self.row.id.package()?;
        let (name, description, tools) = match &self.manifest {
            Some(manifest) => {
                let tools = manifest.tools.iter().map(tool_definition).collect();
                (manifest.name.clone(), manifest.description.clone(), tools)
            }
            None => (self.row.id.to_string(), String::new(), Vec::new()),
        };
        Some(UserPlugin {
            package,
            details: AppDetails { name, description, ..AppDetails::default() },
            hash: self.row.hash,
            tools,
            hidden: self.hidden,
            at: self.row.at,
        })
    }
}

/// A tool in MCP form.
fn tool_definition(tool: &PluginTool) -> Box<RawValue> {
    let mut members = Map::new();
    let mut set = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
    set("name", tool.name.clone().into());
    set("description", tool.description.clone().into());
    set("inputSchema", serde_json::from_str(tool.parameters.get()).unwrap_or_default());
    if let Some(annotations) = &tool.annotations {
        set("annotations", serde_json::from_str(annotations.get()).unwrap_or_default());
    }
    to_raw(&members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_names_its_plugin() {
        let id: PluginId = "dev-time-plugin".parse().unwrap();
        assert_eq!(plugin_id(&id.package().unwrap()), Some(id));
        assert_eq!(plugin_id(&"com.example".parse().unwrap()), None);
    }
}
