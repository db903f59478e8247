//! The state of the glasses: battery, charging, Wi-Fi, model. All apps receive it without a subscription.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Number, Value, value::RawValue};
use toolyard_protocol::session::{
    DeviceState, ToApp,
    app_messages::DeviceStateUpdate,
    device_messages::{GlassesConnection, GlassesStatus},
};

use crate::{
    run::AppRun,
    sessions::Sessions,
    user::{LiveUser, UserState},
};

impl Sessions {
    /// Merges a report of the device, and sends the changes to all apps.
    pub(crate) fn report_state(&self, live: &Arc<LiveUser>, report: DeviceState) {
        self.merge_state(&mut live.lock(), report);
    }

    /// The same, under a lock that is already held.
    pub(crate) fn merge_state(&self, state: &mut UserState, report: DeviceState) {
        let changed = state.state.update(report);
        if changed.is_empty() {
            return;
        }
        let update = DeviceStateUpdate {
            state: changed,
            full_snapshot: Some(false),
            timestamp: Some(self.timestamp()),
        };
        let update = ToApp::DeviceStateUpdate(update).to_text();
        for outbox in state.apps.values().filter_map(AppRun::outbox) {
            outbox.send_control(update.clone());
        }
        self.redraw_dashboard(state);
    }
}

/// The report in `glasses_connection_state`.
pub(crate) fn connection_report(glasses: &GlassesConnection) -> DeviceState {
    let connected = glasses.status != GlassesStatus::Disconnected;
    let wifi = glasses.rest.0.get("wifi");
    let wifi_connected = wifi.and_then(|wifi| wifi.get("connected")).and_then(Value::as_bool);
    // An absent field means no change, so a lost network is reported as an empty name.
    let wifi_ssid = match (wifi_connected, wifi.and_then(|wifi| wifi.get("ssid")).and_then(Value::as_str)) {
        (Some(true), Some(ssid)) => Some(ssid.to_owned()),
        (Some(_), _) => Some(String::new()),
        (None, _) => None,
    };
    DeviceState {
        connected: Some(connected),
        model_name: glasses.model_name.clone().filter(|_| connected),
        wifi_connected,
        wifi_ssid,
        ..DeviceState::default()
    }
}

/// The report in `glasses_battery_update`. Phones send a negative level while it is unknown.
pub(crate) fn battery_report(message: &RawValue) -> Option<DeviceState> {
    #[derive(Deserialize)]
    struct Battery {
        level: Option<Number>,
        charging: Option<bool>,
    }
    let battery: Battery = serde_json::from_str(message.get()).ok()?;
    let battery_level = battery.level.filter(|level| level.as_f64().is_some_and(|level| level >= 0.0));
    Some(DeviceState { battery_level, charging: battery.charging, ..DeviceState::default() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolyard_protocol::raw::to_raw;

    use super::*;

    fn connection(message: Value) -> Value {
        let glasses: GlassesConnection = serde_json::from_value(message).unwrap();
        serde_json::to_value(connection_report(&glasses)).unwrap()
    }

    #[test]
    fn a_lost_network_is_reported_as_an_empty_name_and_an_unknown_one_not_at_all() {
        let report = |wifi: Value| connection(json!({ "status": "CONNECTED", "wifi": wifi }));
        assert_eq!(
            report(json!({ "connected": true, "ssid": "home" })),
            json!({ "connected": true, "wifiConnected": true, "wifiSsid": "home" })
        );
        for lost in [json!({ "connected": false, "ssid": "home" }), json!({ "connected": false })] {
            assert_eq!(report(lost), json!({ "connected": true, "wifiConnected": false, "wifiSsid": "" }));
        }
        for unknown in [json!({ "ssid": "home" }), json!({ "connected": "yes" }), json!(null)] {
            assert_eq!(report(unknown), json!({ "connected": true }));
        }
    }

    #[test]
    fn disconnected_glasses_have_no_model() {
        let report = |status: &str| connection(json!({ "status": status, "modelName": "Mentra Live" }));
        assert_eq!(report("RECONNECTED"), json!({ "connected": true, "modelName": "Mentra Live" }));
        assert_eq!(report("DISCONNECTED"), json!({ "connected": false }));
        assert_eq!(report("EXPLODED"), json!({ "connected": false }));
    }

    #[test]
    fn an_unknown_battery_level_changes_nothing() {
        let report = |message: Value| {
            battery_report(&to_raw(&message)).map(|state| serde_json::to_value(state).unwrap())
        };
        assert_eq!(
            report(json!({ "level": 0, "charging": true })),
            Some(json!({ "batteryLevel": 0, "charging": true }))
        );
        assert_eq!(report(json!({ "level": -1, "charging": false })), Some(json!({ "charging": false })));
        assert_eq!(report(json!({})), Some(json!({})));
        assert_eq!(report(json!({ "level": "full" })), None);
    }
}
