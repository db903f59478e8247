//! Small requests of apps to the device: LED, location, Wi-Fi setup.

use std::sync::Arc;

use serde_json::{Value, json, value::RawValue};
use toolyard_protocol::{
    PackageName,
    session::{
        MessageFields, ToApp, ToDevice,
        app_messages::{LocationPollRequest, RgbLedControl, WifiSetupRequest},
        device_messages::{LocationRequest, WifiSetup},
    },
    stream::StreamKind,
};

use crate::{
    live_stream::{fields_of, name_sender},
    pending::RequestKind,
    sessions::Sessions,
    user::{LiveUser, UserState},
};

impl Sessions {
    /// Switches the LED for an app.
    pub(crate) fn switch_led(&self, live: &Arc<LiveUser>, package: &PackageName, request: &RgbLedControl) {
        let mut state = live.lock();
        if let Err(why) = try_switch_led(&mut state, package, request) {
            state.send_to_app(package, &led_failed(&request.request_id, &why));
        }
    }

    /// Forwards the device's response about the LED.
    pub(crate) fn led_switched(&self, live: &Arc<LiveUser>, fields: MessageFields) {
        let mut state = live.lock();
        let id = fields.str_field("requestId").map(str::to_owned);
        let Some(package) = id.and_then(|id| state.pending.take(RequestKind::Led, &id)) else { return };
        state.send_to_app(&package, &ToApp::RgbLedControlResponse(fields));
    }

    /// Requests the location for an app. If the request cannot be sent there is no response, and the app's own timeout
    /// applies.
    pub(crate) fn request_location(
        &self,
        live: &Arc<LiveUser>,
        package: &PackageName,
        request: LocationPollRequest,
    ) {
        if let Err(why) = try_request_location(&mut live.lock(), package, request) {
            tracing::warn!(%package, user = %live.id, reason = why, "location request not sent");
        }
    }

    /// Forwards the location to the app that requested it, if it may still receive it.
    pub(crate) fn deliver_location(&self, live: &Arc<LiveUser>, correlation: &str, data: &RawValue) {
        let mut state = live.lock();
        if let Some(package) = state.pending.take(RequestKind::Location, correlation) {
            self.relay_response(&state, &package, &StreamKind::LocationUpdate, data);
        }
    }

    /// Asks the user, for an app, to set up Wi-Fi.
    pub(crate) fn request_wifi_setup(
        &self,
        live: &Arc<LiveUser>,
        package: &PackageName,
        request: WifiSetupRequest,
    ) {
        let setup = WifiSetup { reason: request.reason, app_package_name: Some(package.clone()) };
        if let Err(why) = live.lock().request_device(package, &ToDevice::ShowWifiSetup(setup)) {
            tracing::warn!(%package, user = %live.id, reason = %why, "Wi-Fi setup request not sent");
        }
    }
}

fn try_request_location(
    state: &mut UserState,
    package: &PackageName,
    request: LocationPollRequest,
) -> Result<(), String> {
    let LocationPollRequest { correlation_id: id, accuracy } = request;
    state.pending.add(RequestKind::Location, &id, package).map_err(|error| error.to_string())?;
    let location = LocationRequest { correlation_id: id.clone(), accuracy };
    state.request_device(package, &ToDevice::RequestSingleLocation(location)).map_err(|error| {
        state.pending.take(RequestKind::Location, &id);
        error.to_string()
    })
}

fn try_switch_led(
    state: &mut UserState,
    package: &PackageName,
    request: &RgbLedControl,
) -> Result<(), String> {
    if let Some(without) = state.capabilities.as_ref().filter(|device| !device.has_light) {
        return Err(format!("{} has no light", without.model_name));
    }
    state.pending.add(RequestKind::Led, &request.request_id, package).map_err(|error| error.to_string())?;
    let mut fields = request.rest.clone();
    fields.0.insert("requestId".to_owned(), request.request_id.as_str().into());
    name_sender(&mut fields, package);
    state.request_device(package, &ToDevice::RgbLedControl(fields)).map_err(|error| {
        state.pending.take(RequestKind::Led, &request.request_id);
        error.to_string()
    })
}

/// The response for an LED that was not switched.
pub(crate) fn led_failed(request_id: &str, why: &str) -> ToApp {
    let answer: Value = json!({ "requestId": request_id, "success": false, "error": why });
    ToApp::RgbLedControlResponse(fields_of(answer))
}

#[cfg(test)]
mod tests {
    use toolyard_protocol::device::find_profile;

    use super::*;
    use crate::fixtures::{device_link, live_user, package};

    fn locate(state: &mut UserState, app: &str, id: &str) -> Result<(), String> {
        let request = LocationPollRequest { correlation_id: id.to_owned(), accuracy: None };
        try_request_location(state, &package(app), request)
    }

    fn switch_led(state: &mut UserState, app: &str, id: &str) -> Result<(), String> {
        let request = RgbLedControl { request_id: id.to_owned(), rest: MessageFields::default() };
        try_switch_led(state, &package(app), &request)
    }

    type SendRequest = fn(&mut UserState, &str, &str) -> Result<(), String>;
    const REQUESTS: [(RequestKind, SendRequest); 2] =
        [(RequestKind::Location, locate), (RequestKind::Led, switch_led)];

    #[test]
    fn a_request_without_a_device_is_refused_and_its_id_stays_free() {
        for (kind, send) in REQUESTS {
            let live = live_user();
            let mut state = live.lock();
            assert_eq!(send(&mut state, "a", "r1").unwrap_err(), "no device is connected");
            assert_eq!(state.pending.take(kind, "r1"), None);
            state.device = Some(device_link(1));
            assert_eq!(send(&mut state, "b", "r1"), Ok(()), "another app can use the id");
            assert_eq!(state.pending.take(kind, "r1"), Some(package("b")));
        }
    }

    #[test]
    fn a_request_that_a_busy_device_refuses_leaves_its_id_free_and_the_earlier_ones_pending() {
        for (kind, send) in REQUESTS {
            let live = live_user();
            let mut state = live.lock();
            state.device = Some(device_link(1));
            assert_eq!(send(&mut state, "a", "r1"), Ok(()));
            assert!(send(&mut state, "a", "r2").unwrap_err().contains("try again later"));
            assert_eq!(send(&mut state, "b", "r2"), Ok(()), "another app has places of its own");
            assert_eq!(state.pending.take(kind, "r1"), Some(package("a")));
            assert_eq!(state.pending.take(kind, "r2"), Some(package("b")));
        }
    }

    #[test]
    fn a_pending_id_of_another_app_is_refused_and_keeps_its_owner() {
        for (kind, send) in REQUESTS {
            let live = live_user();
            let mut state = live.lock();
            state.device = Some(device_link(4));
            assert_eq!(send(&mut state, "a", "r1"), Ok(()));
            assert!(send(&mut state, "b", "r1").unwrap_err().contains("request id is in use"));
            assert_eq!(state.pending.take(kind, "r1"), Some(package("a")));
        }
    }

    #[test]
    fn a_device_without_a_light_gets_no_led_request() {
        let live = live_user();
        let mut state = live.lock();
        state.device = Some(device_link(4));
        state.capabilities = find_profile("Even Realities G1");
        assert_eq!(switch_led(&mut state, "a", "r1").unwrap_err(), "Even Realities G1 has no light");
        assert_eq!(state.pending.take(RequestKind::Led, "r1"), None);
    }
}
