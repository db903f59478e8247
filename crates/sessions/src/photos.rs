//! Photos that apps request.
//!
//! The phone uploads a photo to the app itself: the request contains the URL (`webhookUrl`) and a token. So responses
//! here are mostly failures. An app on SDK 2 receives a failure only at its upload URL, and one on another SDK as
//! `photo_response`; both are sent.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::timeout;
use toolyard_core::ports::AppRecord;
use toolyard_net::OutsideUrl;
use toolyard_protocol::{
    PackageName,
    session::{MessageFields, ToApp, ToDevice, app_messages::PhotoRequest},
};

use crate::{
    live_stream::{fields_of, name_sender},
    pending::RequestKind,
    sessions::Sessions,
    user::{DeviceRefusal, LiveUser, UserState},
};

/// Timeout of a failure report to an app.
const REPORT_TIMEOUT: Duration = Duration::from_secs(10);
/// Failure reports at once, over all apps. More are skipped, and the SDK's own timeout of 30 s applies.
pub(crate) const REPORTS_AT_ONCE: usize = 64;
/// Longest reason that is forwarded, in characters.
const MAX_REASON_CHARS: usize = 500;
/// Longest response to a report that is read.
const MAX_ANSWER_BYTES: usize = 4 * 1024;

/// Why there is no photo: an SDK error code, and a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PhotoFailure {
    code: String,
    message: String,
}

impl PhotoFailure {
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into() }
    }

    /// Reads the failure from a phone's response, which has one of two forms. None if the photo was taken.
    fn from_response(answer: &MessageFields) -> Option<Self> {
        let error = answer.0.get("error");
        let within = |name: &str| error.and_then(|error| error.get(name)).and_then(Value::as_str);
        let code = within("code").or_else(|| answer.str_field("errorCode"));
        let message = within("message")
            .or_else(|| answer.str_field("errorMessage"))
            .or_else(|| error.and_then(Value::as_str));
        let failed =
            answer.0.get("success") == Some(&Value::Bool(false)) || code.is_some() || error.is_some();
        let text = |text: &str| text.chars().take(MAX_REASON_CHARS).collect();
        failed.then(|| Self {
            code: text(code.unwrap_or("UNKNOWN_ERROR")),
            message: text(message.unwrap_or("the phone took no picture and did not say why")),
        })
    }
}

impl Sessions {
    /// Requests a photo for an app.
    pub(crate) fn take_photo(&self, live: &Arc<LiveUser>, package: &PackageName, request: &PhotoRequest) {
        let refused = self.try_take_photo(&mut live.lock(), package, request);
        if let Err(why) = refused {
            self.photo_failed(live, package, &request.request_id, why);
        }
    }

    fn try_take_photo(
        &self,
        state: &mut UserState,
        package: &PackageName,
        request: &PhotoRequest,
    ) -> Result<(), PhotoFailure> {
        let failure = |code: &str, text: String| PhotoFailure::new(code, text);
        if let Some(without) = state.capabilities.as_ref().filter(|device| !device.has_camera) {
            let text = format!("{} has no camera", without.model_name);
            return Err(failure("CAMERA_INIT_FAILED", text));
        }
        let mut fields = request.rest.clone();
        let url = match fields.0.remove("customWebhookUrl") {
            Some(Value::String(custom)) => OutsideUrl::parse(&custom, &self.parts().guard)
                .map(|_| custom)
                .map_err(|error| failure("UPLOAD_FAILED", format!("customWebhookUrl: {error}")))?,
            _ => self
                .upload_address(state, package)
                .ok_or_else(|| failure("UPLOAD_FAILED", "the app has no public address".to_owned()))?,
        };
        fields.0.insert("webhookUrl".to_owned(), url.into());
        fields.0.insert("requestId".to_owned(), request.request_id.as_str().into());
        name_sender(&mut fields, package);
        let id = &request.request_id;
        let pending = state.pending.add(RequestKind::Photo, id, package);
        pending.map_err(|error| failure("UNKNOWN_ERROR", error.to_string()))?;
        state.request_device(package, &ToDevice::PhotoRequest(fields)).map_err(|error| {
            state.pending.take(RequestKind::Photo, id);
            let code = match error {
                DeviceRefusal::NoDevice => "PHONE_GLASSES_NOT_CONNECTED",
                DeviceRefusal::Busy => "CAMERA_BUSY",
            };
            failure(code, error.to_string())
        })
    }

    fn upload_address(&self, state: &UserState, package: &PackageName) -> Option<String> {
        let record = &state.apps.get(package)?.record;
        let url = OutsideUrl::parse(record.details.public_url.as_deref()?, &self.parts().guard).ok()?;
        Some(url.join("photo-upload").to_string())
    }

    /// Handles the phone's response. A photo in it is forwarded; a failure is reported in all forms.
    pub(crate) fn photo_answered(&self, live: &Arc<LiveUser>, answer: MessageFields) {
        let Some(id) = answer.str_field("requestId").map(str::to_owned) else { return };
        let Some(package) = live.lock().pending.take(RequestKind::Photo, &id) else { return };
        match PhotoFailure::from_response(&answer) {
            Some(failure) => self.photo_failed(live, &package, &id, failure),
            None => live.lock().send_to_app(&package, &ToApp::PhotoResponse(answer)),
        }
    }

    /// Reports to an app that there is no photo.
    pub(crate) fn photo_failed(
        &self,
        live: &Arc<LiveUser>,
        package: &PackageName,
        id: &str,
        why: PhotoFailure,
    ) {
        let PhotoFailure { code, message } = why;
        tracing::debug!(%package, user = %live.id, code, "photo request failed");
        let response =
            json!({ "requestId": id, "success": false, "error": { "code": code, "message": message } });
        let record = {
            let state = live.lock();
            state.send_to_app(package, &ToApp::PhotoResponse(fields_of(response)));
            state.apps.get(package).map(|run| run.record.clone())
        };
        let report = json!({ "requestId": id, "type": "photo_error", "success": false, "errorCode": code,
            "errorMessage": message });
        if let Some(record) = record {
            self.report_photo(&record, &report);
        }
    }

    /// SDK 2 expects photos at its own web server, and failures as well.
    fn report_photo(&self, app: &Arc<AppRecord>, report: &Value) {
        let (Ok(permit), Ok(request)) = (
            self.0.photo_reports.clone().try_acquire_owned(),
            self.signed_post(app, "photo-upload", report.to_string().into_bytes()),
        ) else {
            return;
        };
        let (http, stopping) = (self.parts().http.clone(), self.parts().stopping.clone());
        let package = app.package.clone();
        self.parts().tasks.spawn(async move {
            let sent = async { http.send(request).await?.bytes(MAX_ANSWER_BYTES).await };
            if let Some(Ok(Err(error))) = stopping.run_until_cancelled(timeout(REPORT_TIMEOUT, sent)).await {
                tracing::debug!(%package, %error, "photo failure report not delivered");
            }
            drop(permit);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_failure_formats_of_phones_are_read() {
        let read = |answer: Value| PhotoFailure::from_response(&fields_of(answer));
        let busy = Some(PhotoFailure::new("CAMERA_BUSY", "in use"));
        assert_eq!(
            read(
                json!({ "requestId": "p", "success": false, "errorCode": "CAMERA_BUSY", "errorMessage": "in use" })
            ),
            busy
        );
        assert_eq!(
            read(
                json!({ "requestId": "p", "success": false, "error": { "code": "CAMERA_BUSY", "message": "in use" } })
            ),
            busy
        );
        assert_eq!(
            read(json!({ "success": false })).map(|failure| failure.code).as_deref(),
            Some("UNKNOWN_ERROR")
        );
        assert_eq!(read(json!({ "success": true, "photoUrl": "https://x/p.jpg" })), None);
        assert_eq!(read(json!({ "photoUrl": "https://x/p.jpg" })), None);
        let long = read(json!({ "success": false, "errorMessage": "x".repeat(10_000) })).unwrap();
        assert_eq!(long.message.len(), MAX_REASON_CHARS);
    }
}
