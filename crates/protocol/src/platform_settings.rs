//! Platform settings of a user. Apps read them as `mentraosSettings`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Platform settings of a user, shared by all apps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PlatformSettings {
    /// The user's time zone: `Europe/London`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_timezone: Option<String>,
    /// Whether to use metric units; if not, imperial units.
    pub metric_system_enabled: bool,
}

impl PlatformSettings {
    /// The settings as apps receive them.
    pub fn to_map(&self) -> Map<String, Value> {
        let mut map = Map::new();
        if let Some(zone) = &self.user_timezone {
            map.insert("userTimezone".to_owned(), zone.as_str().into());
        }
        map.insert("metricSystemEnabled".to_owned(), self.metric_system_enabled.into());
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apps_get_what_is_stored() {
        for text in [
            r#"{"userTimezone":"Europe/London","metricSystemEnabled":true}"#,
            r#"{"metricSystemEnabled":false}"#,
        ] {
            let read: PlatformSettings = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
            assert_eq!(Value::Object(read.to_map()), serde_json::from_str::<Value>(text).unwrap());
        }
        assert_eq!(serde_json::from_str::<PlatformSettings>("{}").unwrap(), PlatformSettings::default());
    }
}
