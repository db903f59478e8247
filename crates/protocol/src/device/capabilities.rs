//! The capabilities of a device model, as apps read them.
//!
//! The flags decide (`hasCamera`); the objects only describe. A flag can be true without an object (the part exists, its
//! data is not available), and an object can remain although its flag is false.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Number;

/// The capabilities of a device. Profiles also come from devices, so every field has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Capabilities {
    /// The exact name of the model.
    pub model_name: String,
    /// Whether it can take photos.
    pub has_camera: bool,
    /// The camera.
    pub camera: Option<Camera>,
    /// Whether it has a display.
    pub has_display: bool,
    /// The display.
    pub display: Option<Display>,
    /// Whether it can record sound.
    pub has_microphone: bool,
    /// The microphone.
    pub microphone: Option<Microphone>,
    /// Whether it can play sound.
    pub has_speaker: bool,
    /// The speaker.
    pub speaker: Option<Speaker>,
    /// Whether it can sense motion.
    #[serde(rename = "hasIMU")]
    pub has_imu: bool,
    /// The motion sensor, if its raw data is available.
    pub imu: Option<Imu>,
    /// Whether it can be pressed or swiped.
    pub has_button: bool,
    /// The buttons.
    pub button: Option<Buttons>,
    /// Whether it has lights.
    pub has_light: bool,
    /// The lights.
    pub light: Option<Lights>,
    /// Power supply.
    pub power: Power,
    /// Whether it has Wi-Fi.
    pub has_wifi: bool,
}

/// Width and height in pixels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Resolution {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
}

/// A camera.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Camera {
    /// Resolution of a photo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// Whether it has high dynamic range.
    #[serde(rename = "hasHDR", skip_serializing_if = "Option::is_none")]
    pub has_hdr: Option<bool>,
    /// Whether it can focus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_focus: Option<bool>,
    /// Video recording.
    pub video: Video,
}

/// Video recording.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Video {
    /// Whether it can record.
    pub can_record: bool,
    /// Whether it can stream live video.
    pub can_stream: bool,
    /// `rtmp`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supported_stream_types: Option<Vec<String>>,
    /// Resolutions of the live stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supported_resolutions: Option<Vec<Resolution>>,
}

/// A display.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Display {
    /// How many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Whether it shows more than one color.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_color: Option<bool>,
    /// The color: `green`, `full_color`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// Whether it can show bitmaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_display_bitmap: Option<bool>,
    /// Its resolution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// Field of view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_of_view: Option<FieldOfView>,
    /// Lines of text that fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_text_lines: Option<u32>,
    /// Whether its brightness is adjustable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjust_brightness: Option<bool>,
}

/// Angles in degrees.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FieldOfView {
    /// Horizontal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizontal: Option<Number>,
    /// Vertical.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vertical: Option<Number>,
}

/// A microphone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Microphone {
    /// How many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Whether it detects voice activity by itself.
    #[serde(rename = "hasVAD", skip_serializing_if = "Option::is_none")]
    pub has_vad: Option<bool>,
}

/// A speaker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Speaker {
    /// How many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Whether only the wearer hears it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_private: Option<bool>,
}

/// A motion sensor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Imu {
    /// How many axes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub axis_count: Option<u32>,
    /// Whether it measures acceleration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_accelerometer: Option<bool>,
    /// Whether it has a compass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_compass: Option<bool>,
    /// Whether it measures rotation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_gyroscope: Option<bool>,
}

/// The buttons.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Buttons {
    /// How many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Each of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buttons: Option<Vec<Button>>,
}

/// One button.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Button {
    /// `press`, `swipe1d` or `swipe2d`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it reports: `press`, `long_press`.
    pub events: Vec<String>,
    /// Whether it is a touch surface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_capacitive: Option<bool>,
}

/// The lights.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Lights {
    /// How many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Each of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lights: Option<Vec<Light>>,
}

/// One light.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Light {
    /// Its id.
    pub id: String,
    /// `privacy`, `user_feedback` or `general`.
    pub purpose: String,
    /// Whether it shows more than one color.
    pub is_full_color: bool,
    /// `white`, `rgb`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// `front_facing`, `user_facing`, `side` or `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
}

/// Power supply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Power {
    /// Whether there is an external battery, such as a case or a puck.
    pub has_external_battery: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_profile_from_outside_may_say_little_or_more() {
        let some: Capabilities = serde_json::from_value(json!({
            "modelName": "Mine", "hasCamera": true, "camera": { "video": { "canStream": true } },
            "display": null, "hasOta": true, "speaker": {},
        }))
        .unwrap();
        assert!(some.has_camera && !some.has_speaker && some.camera.unwrap().video.can_stream);
        assert_eq!(serde_json::from_str::<Capabilities>("{}").unwrap(), Capabilities::default());
    }

    #[test]
    fn what_is_absent_is_null_at_the_top_and_left_out_below() {
        let written = serde_json::to_value(Capabilities {
            speaker: Some(Speaker { count: Some(1), is_private: None }),
            ..Capabilities::default()
        })
        .unwrap();
        assert_eq!(written["camera"], Value::Null);
        assert_eq!(written["speaker"], json!({ "count": 1 }));
        assert_eq!(written["hasIMU"], json!(false));
        assert_eq!(written.as_object().unwrap().len(), 17);
    }
}
