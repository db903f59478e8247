//! Which settings of two configurations differ.

use serde_json::{Map, Value};

use super::{AppliedSetting, settings::SECRET_SECTIONS};
use crate::config::Config;

/// A setting with two values. `None`: it is not set.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChangedSetting {
    pub(super) section: String,
    pub(super) key: String,
    from: Option<Value>,
    to: Option<Value>,
}

impl ChangedSetting {
    /// `section.key`
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    pub(super) fn is(&self, section: &str, key: &str) -> bool {
        self.section == section && self.key == key
    }

    pub(super) fn into_applied(self) -> AppliedSetting {
        let setting = self.name();
        if SECRET_SECTIONS.contains(&self.section.as_str()) {
            return AppliedSetting { setting, from: None, to: None };
        }
        let shown = |value: Option<Value>| Some(value.unwrap_or_default());
        AppliedSetting { setting, from: shown(self.from), to: shown(self.to) }
    }
}

/// The settings that differ, by section and key.
pub(super) fn changed_settings(from: &Config, to: &Config) -> Vec<ChangedSetting> {
    let (from, to) = (sections(from), sections(to));
    let mut changed = Vec::new();
    for (section, values) in &to {
        let (before, after) = (from.get(section).and_then(Value::as_object), values.as_object());
        let value = |side: Option<&Map<String, Value>>, key: &str| {
            side.and_then(|values| values.get(key)).filter(|value| !value.is_null()).cloned()
        };
        let mut keys: Vec<_> = [before, after].into_iter().flatten().flat_map(Map::keys).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let (from, to) = (value(before, key), value(after, key));
            if from != to {
                changed.push(ChangedSetting { section: section.clone(), key: key.clone(), from, to });
            }
        }
    }
    changed
}

/// A configuration with these changes.
pub(super) fn with_changes(config: &Config, changes: &[ChangedSetting]) -> Result<Config, String> {
    let mut sections = sections(config);
    for change in changes {
        let Some(section) = sections.get_mut(&change.section).and_then(Value::as_object_mut) else {
            continue;
        };
        match &change.to {
            Some(value) => section.insert(change.key.clone(), value.clone()),
            None => section.remove(&change.key),
        };
    }
    serde_json::from_value(Value::Object(sections)).map_err(|error| error.to_string())
}

fn sections(config: &Config) -> Map<String, Value> {
    match serde_json::to_value(config) {
        Ok(Value::Object(sections)) => sections,
        Ok(_) | Err(_) => Map::new(),
    }
}
