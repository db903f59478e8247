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
