//! What one model can do, in the words that apps read.
//!
//! The flags decide (`hasCamera`); the objects beside them only describe. A flag can be true with no object (the part is
//! there, its data is not offered), and an object can be left over beside a flag that is false.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Number;

/// What a device can do. Profiles also come from outside, so every field has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Capabilities {
    /// The exact name of the model.
    pub model_name: String,
    /// Whether it can take pictures.
    pub has_camera: bool,
    /// The camera.
    pub camera: Option<Camera>,
    /// Whether it can show something.
    pub has_display: bool,
    /// The display.
    pub display: Option<Display>,
    /// Whether it can hear.
    pub has_microphone: bool,
    /// The microphone.
    pub microphone: Option<Microphone>,
    /// Whether it can speak.
    pub has_speaker: bool,
    /// The speaker.
    pub speaker: Option<Speaker>,
    /// Whether it can feel motion.
    #[serde(rename = "hasIMU")]
    pub has_imu: bool,
    /// The motion sensor, where its raw data is offered.
    pub imu: Option<Imu>,
    /// Whether it can be pressed or swiped.
    pub has_button: bool,
    /// The buttons.
    pub button: Option<Buttons>,
    /// Whether it has lamps.
    pub has_light: bool,
    /// The lamps.
    pub light: Option<Lights>,
    /// Its power.
    pub power: Power,
    /// Whether it is on a wireless network of its own.
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
    /// Of a still picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// Whether it has high dynamic range.
    #[serde(rename = "hasHDR", skip_serializing_if = "Option::is_none")]
    pub has_hdr: Option<bool>,
    /// Whether it can focus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_focus: Option<bool>,
    /// Moving pictures.
    pub video: Video,
}

/// Moving pictures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Video {
    /// Whether it can record.
    pub can_record: bool,
    /// Whether it can send a live stream.
    pub can_stream: bool,
    /// `rtmp`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supported_stream_types: Option<Vec<String>>,
    /// Of the live stream.
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
    /// Whether it shows more than one colour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_color: Option<bool>,
    /// Which colour: `green`, `full_color`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// Whether it shows pictures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_display_bitmap: Option<bool>,
    /// Its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// How much of the view it fills.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_of_view: Option<FieldOfView>,
    /// Lines of text that fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_text_lines: Option<u32>,
    /// Whether its brightness can be set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjust_brightness: Option<bool>,
}

/// Angles in degrees.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FieldOfView {
    /// Across.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizontal: Option<Number>,
    /// Down.
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
    /// Whether it notices by itself that somebody speaks.
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
    /// Whether it knows north.
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
    /// Whether it is touched, not pushed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_capacitive: Option<bool>,
}

/// The lamps.
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

/// One lamp.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Light {
    /// Its own name.
    pub id: String,
    /// `privacy`, `user_feedback` or `general`.
    pub purpose: String,
    /// Whether it shows more than one colour.
    pub is_full_color: bool,
    /// `white`, `rgb`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// `front_facing`, `user_facing`, `side` or `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
}

/// Power.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Power {
    /// Whether a case or a puck carries a battery.
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
