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
        let LocationPollRequest { correlation_id, accuracy } = request;
        let mut state = live.lock();
        let location = LocationRequest { correlation_id: correlation_id.clone(), accuracy };
        let sent = state
            .pending
            .add(RequestKind::Location, &correlation_id, package)
            .map_err(|error| error.to_string())
            .and_then(|()| {
                let sent = state.request_device(package, &ToDevice::RequestSingleLocation(location));
                sent.map_err(|error| {
                    state.pending.take(RequestKind::Location, &correlation_id);
                    error.to_string()
                })
            });
        if let Err(why) = sent {
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
