//! Live video of the device. One app at a time owns it; only that app can stop it and receives its status.
//!
//! Managed streams (video relayed by the platform) are not supported; an app that requests one gets an error at once.

use std::sync::Arc;

use serde_json::{Value, json};
use toolyard_protocol::{
    PackageName,
    session::{MessageFields, ToApp, ToDevice},
};

use crate::{
    message_rules::MessageRefusal,
    sessions::Sessions,
    user::{LiveUser, UserState},
};

/// The error for a managed stream.
pub(crate) const NO_MANAGED_STREAMS: &str =
    "this platform offers no managed streams; send the video to an address of your own with startStream";
/// Statuses after which a stream has ended.
const ENDED: [&str; 3] = ["stopped", "error", "timeout"];

/// The live video that the device was asked to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LiveStream {
    pub(crate) package: PackageName,
    id: String,
    /// The target URL. It may contain a secret, so other apps never see it.
    url: Option<String>,
    status: String,
}

impl Sessions {
    /// Starts live video for an app.
    pub(crate) fn start_stream(&self, live: &Arc<LiveUser>, package: &PackageName, fields: MessageFields) {
        let mut state = live.lock();
        if let Err(why) = self.try_start_stream(&mut state, package, fields) {
            state.send_to_app(package, &stream_failed(&why));
        }
    }

    fn try_start_stream(
        &self,
        state: &mut UserState,
        package: &PackageName,
        mut fields: MessageFields,
    ) -> Result<(), String> {
        if let Some(without) = state.capabilities.as_ref().filter(|device| !device.has_camera) {
            return Err(format!("{} has no camera", without.model_name));
        }
        if state.stream.as_ref().is_some_and(|stream| stream.package != *package) {
            return Err("another app sends live video; it has to stop first".to_owned());
        }
        self.end_stream(state, package);
        let id = self.parts().ids.new_secret();
        let url =
            ["rtmpUrl", "streamUrl"].into_iter().find_map(|name| fields.str_field(name)).map(str::to_owned);
        name_sender(&mut fields, package);
        fields.0.insert("streamId".to_owned(), id.clone().into());
        state.request_device(package, &ToDevice::StartStream(fields)).map_err(|error| error.to_string())?;
        let status = "initializing".to_owned();
        state.stream = Some(LiveStream { package: package.clone(), id, url, status });
        Ok(())
    }

    /// Stops live video for its owner.
    pub(crate) fn stop_stream(
        &self,
        live: &Arc<LiveUser>,
        package: &PackageName,
        fields: &MessageFields,
    ) -> Result<(), MessageRefusal> {
        let mut state = live.lock();
        let own = state.stream.as_ref().is_some_and(|stream| {
            stream.package == *package && fields.str_field("streamId").is_none_or(|id| id == stream.id)
        });
        if !own {
            return Err(MessageRefusal::NotStreamOwner);
        }
        self.end_stream(&mut state, package);
        Ok(())
    }

    /// Ends the live video of an app, if it has one.
    pub(crate) fn end_stream(&self, state: &mut UserState, package: &PackageName) {
        let Some(stream) = state.stream.take_if(|stream| stream.package == *package) else { return };
        let mut fields = MessageFields::default();
        name_sender(&mut fields, package);
        fields.0.insert("streamId".to_owned(), stream.id.into());
        // Never refused: there is at most one for each start.
        if let Some(device) = &state.device {
            device.outbox.send_control(ToDevice::StopStream(fields).to_text());
        }
    }

    /// Forwards the status of the live video to its owner, in the message that the SDK expects.
    pub(crate) fn stream_status(&self, live: &Arc<LiveUser>, mut fields: MessageFields) {
        let mut state = live.lock();
        let named = fields.str_field("streamId").map(str::to_owned);
        let Some(stream) =
            state.stream.as_mut().filter(|stream| named.is_none_or(|named| named == stream.id))
        else {
            tracing::debug!(user = %live.id, "stream status ignored: no app owns the stream");
            return;
        };
        let status = fields.str_field("status").unwrap_or_default().to_owned();
        fields.0.insert("streamId".to_owned(), stream.id.clone().into());
        fields.0.insert("appId".to_owned(), stream.package.as_str().into());
        stream.status.clone_from(&status);
        let package = stream.package.clone();
        if ENDED.contains(&status.as_str()) {
            state.stream = None;
        }
        state.send_to_app(&package, &ToApp::RtmpStreamStatus(fields));
    }

    /// Answers whether there is live video. About another app's stream only its existence is revealed.
    pub(crate) fn check_stream(&self, live: &Arc<LiveUser>, package: &PackageName) {
        let state = live.lock();
        let mut answer = json!({ "hasActiveStream": state.stream.is_some() });
        if let Some(stream) = state.stream.as_ref().filter(|stream| stream.package == *package) {
            answer["streamInfo"] = json!({
                "type": "unmanaged", "streamId": stream.id, "status": stream.status, "rtmpUrl": stream.url,
                "requestingAppId": package,
            });
        }
        state.send_to_app(package, &ToApp::StreamStatusCheckResponse(fields_of(answer)));
    }
}

/// Names the requesting app, in both fields that devices read.
pub(crate) fn name_sender(fields: &mut MessageFields, package: &PackageName) {
    for name in ["packageName", "appId"] {
        fields.0.insert(name.to_owned(), package.as_str().into());
    }
}

/// The status of a stream that did not start.
pub(crate) fn stream_failed(why: &str) -> ToApp {
    ToApp::RtmpStreamStatus(fields_of(json!({ "status": "error", "errorDetails": why })))
}

/// The status of a managed stream that did not start.
pub(crate) fn managed_stream_failed(why: &str) -> ToApp {
    ToApp::ManagedStreamStatus(fields_of(json!({ "status": "error", "message": why })))
}

/// Converts a JSON object to message fields.
pub(crate) fn fields_of(value: Value) -> MessageFields {
    match value {
        Value::Object(members) => MessageFields(members),
        _ => MessageFields::default(),
    }
}
