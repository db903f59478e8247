//! The user's settings: those of the app, and those of the platform.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A snapshot of the settings. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UserSettings {
    app: Arc<Map<String, Value>>,
    system: Arc<Map<String, Value>>,
}

impl UserSettings {
    /// A setting of the app: the user's value, or else the default that the app defined. `None` if there is neither, or if the
    /// type does not match.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        read_setting(&self.app, key)
    }

    /// A setting of the platform, such as `userTimezone` or `metricSystemEnabled`.
    pub fn system<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        read_setting(&self.system, key)
    }

    /// The keys of the app's settings.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.app.keys().map(String::as_str)
    }

    /// These settings with the given lists replaced. `None` keeps a list.
    pub(super) fn with_updates(&self, app: Option<&[Value]>, system: Option<Map<String, Value>>) -> Self {
        Self {
            app: app.map_or_else(|| Arc::clone(&self.app), |list| Arc::new(setting_values(list))),
            system: system.map_or_else(|| Arc::clone(&self.system), Arc::new),
        }
    }
}

fn read_setting<T: DeserializeOwned>(settings: &Map<String, Value>, key: &str) -> Option<T> {
    settings.get(key).and_then(|value| T::deserialize(value).ok())
}

/// The values by key. Entries without a key, such as headings, are ignored.
fn setting_values(list: &[Value]) -> Map<String, Value> {
    let entry = |setting: &Value| {
        let key = setting.get("key")?.as_str()?;
        let given = |name: &str| setting.get(name).filter(|value| !value.is_null());
        let value = given("value").or_else(|| given("defaultValue"))?;
        Some((key.to_owned(), value.clone()))
    };
    list.iter().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_users_value_comes_before_the_default() {
        let list = [
            json!({ "type": "group", "title": "Sound" }),
            json!({ "type": "toggle", "key": "loud", "defaultValue": false, "value": true }),
            json!({ "type": "slider", "key": "size", "defaultValue": 3, "value": null }),
            json!({ "type": "text", "key": "name" }),
        ];
        let settings = UserSettings::default().with_updates(Some(&list), None);
        assert_eq!(settings.get::<bool>("loud"), Some(true));
        assert_eq!(settings.get::<u8>("size"), Some(3));
        assert_eq!(settings.get::<String>("size"), None);
        assert_eq!(settings.get::<String>("name"), None);
        assert_eq!(settings.keys().collect::<Vec<_>>(), ["loud", "size"]);
    }

    #[test]
    fn one_kind_leaves_the_other_alone() {
        let system = json!({ "userTimezone": "Europe/London" }).as_object().cloned();
        let settings =
            UserSettings::default().with_updates(Some(&[json!({ "key": "a", "value": 1 })]), system);
        let later = settings.with_updates(Some(&[]), None);
        assert_eq!(later.get::<u8>("a"), None);
        assert_eq!(later.system::<String>("userTimezone").as_deref(), Some("Europe/London"));
    }
}
