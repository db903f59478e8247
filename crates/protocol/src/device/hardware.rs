//! Checks the hardware requirements of an app against a device.
//!
//! Without a device, or with an unknown model, nothing counts as missing: the user may still read the result on a
//! phone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::capabilities::Capabilities;
use crate::name::text_excerpt;

/// The model name for no glasses at all.
pub const NO_GLASSES: &str = "None";

/// A hardware part that an app can require.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum HardwareType {
    /// Takes photos.
    Camera,
    /// Shows content.
    Display,
    /// Records sound.
    Microphone,
    /// Plays sound.
    Speaker,
    /// Senses motion.
    Imu,
    /// Can be pressed or swiped.
    Button,
    /// A light.
    Light,
    /// Wi-Fi.
    Wifi,
    /// Any glasses.
    Exist,
    /// An unknown part; no device has it.
    #[serde(untagged)]
    Other(String),
}

impl HardwareType {
    /// Whether a device has it.
    pub fn is_present_on(&self, device: &Capabilities) -> bool {
        match self {
            Self::Camera => device.has_camera,
            Self::Display => device.has_display,
            Self::Microphone => device.has_microphone,
            Self::Speaker => device.has_speaker,
            Self::Imu => device.has_imu,
            Self::Button => device.has_button,
            Self::Light => device.has_light,
            Self::Wifi => device.has_wifi,
            Self::Exist => device.model_name != NO_GLASSES,
            Self::Other(_) => false,
        }
    }

    /// The part with its article, for messages.
    fn describe(&self) -> String {
        match self {
            Self::Camera => "a camera".to_owned(),
            Self::Display => "a display".to_owned(),
            Self::Microphone => "a microphone".to_owned(),
            Self::Speaker => "a speaker".to_owned(),
            Self::Imu => "a motion sensor".to_owned(),
            Self::Button => "a button".to_owned(),
            Self::Light => "a light".to_owned(),
            Self::Wifi => "Wi-Fi".to_owned(),
            Self::Exist => "glasses".to_owned(),
            Self::Other(name) => format!("`{}`", text_excerpt(name)),
        }
    }
}

/// How much an app needs a part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum HardwareLevel {
    /// Does not work without it.
    Required,
    /// Does more with it. An unknown level counts as this one.
    #[default]
    #[serde(other)]
    Optional,
}

/// One hardware requirement of an app.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct HardwareRequirement {
    /// The part.
    #[serde(rename = "type")]
    pub kind: HardwareType,
    /// Whether it is required.
    #[serde(default)]
    pub level: HardwareLevel,
    /// Why it is needed, as the developer describes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// What a device lacks for an app.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceCompatibility {
    /// The app does not work without these.
    pub missing_required: Vec<HardwareRequirement>,
    /// The app works with limits without these.
    pub missing_optional: Vec<HardwareRequirement>,
}

/// Checks the requirements of an app against a device. Without a known device nothing is missing.
pub fn check_hardware(
    requirements: &[HardwareRequirement],
    device: Option<&Capabilities>,
) -> DeviceCompatibility {
    let mut found = DeviceCompatibility::default();
    let Some(device) = device else { return found };
    for requirement in requirements.iter().filter(|requirement| !requirement.kind.is_present_on(device)) {
        match requirement.level {
            HardwareLevel::Required => found.missing_required.push(requirement.clone()),
            HardwareLevel::Optional => found.missing_optional.push(requirement.clone()),
        }
    }
    found
}

impl DeviceCompatibility {
    /// Whether the app works on the device.
    pub fn is_compatible(&self) -> bool {
        self.missing_required.is_empty()
    }

    /// Why the app does not work on that model: "needs a camera; Even Realities G1 has none".
    pub fn reason(&self, model: &str) -> Option<String> {
        let mut parts: Vec<&HardwareType> = Vec::new();
        for requirement in &self.missing_required {
            if !parts.contains(&&requirement.kind) {
                parts.push(&requirement.kind);
            }
        }
        let (last, others) = parts.split_last()?;
        if parts.contains(&&HardwareType::Exist) {
            return Some(match join_words(parts.iter().filter(|part| ***part != HardwareType::Exist)) {
                Some(rest) => format!("needs glasses with {rest}; there are none"),
                None => "needs glasses; there are none".to_owned(),
            });
        }
        let has = match others.len() {
            0 if **last == HardwareType::Wifi => "does not have it",
            0 => "has none",
            1 => "has neither",
            _ => "has none of them",
        };
        join_words(parts.iter()).map(|needs| format!("needs {needs}; {} {has}", text_excerpt(model)))
    }
}

/// "a", "a and b", "a, b and c".
fn join_words<'a>(parts: impl Iterator<Item = &'a &'a HardwareType>) -> Option<String> {
    let mut words: Vec<String> = parts.map(|part| part.describe()).collect();
    let last = words.pop()?;
    if words.is_empty() { Some(last) } else { Some(format!("{} and {last}", words.join(", "))) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::device::find_profile;

    fn needs(kinds: &[&str]) -> Vec<HardwareRequirement> {
        kinds
            .iter()
            .map(|kind| serde_json::from_value(json!({ "type": kind, "level": "REQUIRED" })).unwrap())
            .collect()
    }

    fn reason(kinds: &[&str], model: &str) -> Option<String> {
        check_hardware(&needs(kinds), Some(&find_profile(model).unwrap())).reason(model)
    }

    #[test]
    fn flags_decide() {
        let flags = [
            ("CAMERA", "Mentra Live"),
            ("DISPLAY", "Vuzix Z100"),
            ("MICROPHONE", "Even Realities G1"),
            ("SPEAKER", "Simulated Glasses"),
            ("IMU", "Even Realities G1"),
            ("BUTTON", "Even Realities G2"),
            ("LIGHT", "Mentra Live"),
            ("WIFI", "Mentra Live"),
            ("EXIST", "Mentra Mach1"),
        ];
        for (kind, model) in flags {
            assert!(
                check_hardware(&needs(&[kind]), Some(&find_profile(model).unwrap())).is_compatible(),
                "{kind} on {model}"
            );
            // Its profile keeps objects of a display and others next to flags that are false.
            assert!(
                !check_hardware(&needs(&[kind]), Some(&find_profile(NO_GLASSES).unwrap())).is_compatible(),
                "{kind} on none"
            );
        }
    }

    #[test]
    fn no_device_misses_nothing() {
        assert_eq!(check_hardware(&needs(&["CAMERA", "GPS"]), None), DeviceCompatibility::default());
    }

    #[test]
    fn only_required_parts_count() {
        let wanted: Vec<HardwareRequirement> = serde_json::from_value(json!([
            { "type": "CAMERA", "level": "OPTIONAL" }, { "type": "SPEAKER", "level": "NICE" }, { "type": "GPS" },
        ]))
        .unwrap();
        let found = check_hardware(&wanted, Some(&find_profile("Even Realities G1").unwrap()));
        assert!(found.is_compatible());
        assert_eq!((found.missing_optional.len(), found.reason("x")), (3, None));
    }

    #[test]
    fn an_unknown_hardware_part_is_never_present() {
        assert_eq!(reason(&["GPS"], "Mentra Live").unwrap(), "needs `GPS`; Mentra Live has none");
        let read: HardwareRequirement =
            serde_json::from_value(json!({ "type": "GPS", "level": "REQUIRED", "why": 1 })).unwrap();
        assert_eq!(read.kind, HardwareType::Other("GPS".to_owned()));
        assert_eq!(serde_json::to_value(&read).unwrap(), json!({ "type": "GPS", "level": "REQUIRED" }));
    }

    #[test]
    fn reasons_are_english() {
        let g1 = "Even Realities G1";
        assert_eq!(reason(&["CAMERA"], g1).unwrap(), "needs a camera; Even Realities G1 has none");
        assert_eq!(
            reason(&["CAMERA", "SPEAKER", "CAMERA"], g1).unwrap(),
            "needs a camera and a speaker; Even Realities G1 has neither"
        );
        assert_eq!(
            reason(&["CAMERA", "SPEAKER", "WIFI"], g1).unwrap(),
            "needs a camera, a speaker and Wi-Fi; Even Realities G1 has none of them"
        );
        assert_eq!(reason(&["WIFI"], g1).unwrap(), "needs Wi-Fi; Even Realities G1 does not have it");
        assert_eq!(reason(&["EXIST"], "None").unwrap(), "needs glasses; there are none");
        assert_eq!(
            reason(&["CAMERA", "EXIST"], "None").unwrap(),
            "needs glasses with a camera; there are none"
        );
        assert_eq!(reason(&["DISPLAY"], g1), None);
    }
}
