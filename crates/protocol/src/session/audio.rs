//! Audio playback for apps.

use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::name::PackageName;

/// `audio_play_request` from an app.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AudioPlayRequest {
    /// Returned in the response.
    pub request_id: String,
    /// URL of the audio.
    pub audio_url: String,
    /// From 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<Number>,
    /// Whether other audio stops first. If false, the app does not wait for a response.
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
    /// The app's request.
    #[serde(flatten)]
    pub request: AudioPlayRequest,
    /// The app's package name.
    pub package_name: PackageName,
    /// The app, under the name that phones expect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_id: Option<PackageName>,
    /// The spoken text, for devices with their own speech synthesis. Our extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// `audio_stop_request` from an app.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AudioStopRequest {
    /// The track; all tracks if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub track_id: Option<Number>,
}

/// `audio_stop_request` to a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceAudioStopRequest {
    /// The app's package name.
    pub package_name: PackageName,
    /// The app, under the name that phones expect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_id: Option<PackageName>,
    /// The track; all tracks if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub track_id: Option<Number>,
}

/// `audio_play_response`, from a device to the app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AudioPlayResponse {
    /// The id of the request.
    pub request_id: String,
    /// Whether it was played.
    pub success: bool,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its length in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Number>,
}
