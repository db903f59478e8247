//! Sound that apps want played.

use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::name::PackageName;

/// `audio_play_request` from an app.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AudioPlayRequest {
    /// Comes back in the response.
    pub request_id: String,
    /// Where the sound is.
    pub audio_url: String,
    /// From 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<Number>,
    /// Whether other sound stops first. If false, the app does not wait for a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_other_audio: Option<bool>,
    /// 0 speaker, 1 app, 2 speech.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub track_id: Option<Number>,
}

/// `audio_play_request` to a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceAudioPlayRequest {
    /// What the app asked for.
    #[serde(flatten)]
    pub request: AudioPlayRequest,
    /// Which app.
    pub package_name: PackageName,
    /// Which app, under the name that phones look for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_id: Option<PackageName>,
    /// What the sound says, for devices that speak by themselves. An extension of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// `audio_stop_request` from an app.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AudioStopRequest {
    /// Which track; all of them where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub track_id: Option<Number>,
}

/// `audio_stop_request` to a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceAudioStopRequest {
    /// Which app.
    pub package_name: PackageName,
    /// Which app, under the name that phones look for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_id: Option<PackageName>,
    /// Which track; all of them where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub track_id: Option<Number>,
}

/// `audio_play_response`, from a device and on to the app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AudioPlayResponse {
    /// Of the request.
    pub request_id: String,
    /// Whether it was played.
    pub success: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it was, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Number>,
}
