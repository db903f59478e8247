//! The state of the glasses, as apps can observe it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Number;

/// Some or all of the state. Missing fields have not changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say it")]
pub struct DeviceState {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connected: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wifi_connected: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wifi_ssid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wifi_local_ip: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub battery_level: Option<Number>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charging: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_battery_level: Option<Number>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_charging: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_open: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_removed: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hotspot_enabled: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hotspot_ssid: Option<String>,
}

impl DeviceState {
    /// Applies a later report. Returns the fields that changed.
    pub fn update(&mut self, later: Self) -> Self {
        Self {
            connected: replace_if_changed(&mut self.connected, later.connected),
            model_name: replace_if_changed(&mut self.model_name, later.model_name),
            wifi_connected: replace_if_changed(&mut self.wifi_connected, later.wifi_connected),
            wifi_ssid: replace_if_changed(&mut self.wifi_ssid, later.wifi_ssid),
            wifi_local_ip: replace_if_changed(&mut self.wifi_local_ip, later.wifi_local_ip),
            battery_level: replace_if_changed(&mut self.battery_level, later.battery_level),
            charging: replace_if_changed(&mut self.charging, later.charging),
            case_battery_level: replace_if_changed(&mut self.case_battery_level, later.case_battery_level),
            case_charging: replace_if_changed(&mut self.case_charging, later.case_charging),
            case_open: replace_if_changed(&mut self.case_open, later.case_open),
            case_removed: replace_if_changed(&mut self.case_removed, later.case_removed),
            hotspot_enabled: replace_if_changed(&mut self.hotspot_enabled, later.hotspot_enabled),
            hotspot_ssid: replace_if_changed(&mut self.hotspot_ssid, later.hotspot_ssid),
        }
    }

    /// Whether no field is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Replaces a value; returns the new one if it differs.
fn replace_if_changed<T: Clone + PartialEq>(old: &mut Option<T>, new: Option<T>) -> Option<T> {
    if new.is_none() || *old == new {
        return None;
    }
    old.clone_from(&new);
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_report_changes_only_what_it_says() {
        let read = |text: &str| serde_json::from_str::<DeviceState>(text).unwrap();
        let mut state = read(r#"{"connected":true,"modelName":"Even Realities G1","batteryLevel":81}"#);
        let changed = state.update(read(r#"{"connected":true,"batteryLevel":80,"charging":true,"fresh":1}"#));
        assert_eq!(serde_json::to_string(&changed).unwrap(), r#"{"batteryLevel":80,"charging":true}"#);
        assert!(state.update(read(r#"{"batteryLevel":80}"#)).is_empty());
        assert_eq!(
            serde_json::to_string(&state).unwrap(),
            r#"{"connected":true,"modelName":"Even Realities G1","batteryLevel":80,"charging":true}"#
        );
    }
}
