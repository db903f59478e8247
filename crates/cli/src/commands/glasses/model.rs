//! The simulated glasses, and how they introduce themselves to the server.

use std::path::Path;

use toolyard_protocol::{
    Problem,
    device::{Capabilities, find_profile, profile_names},
    session::{
        FromDevice, MessageFields,
        device_messages::{DeviceProfile, GlassesConnection, GlassesStatus},
    },
};

use crate::{error::CliError, input};

/// The glasses that most apps are made for.
pub(super) const DEFAULT: &str = "Even Realities G1";
/// Largest profile, in bytes.
const MAX_PROFILE_BYTES: usize = 64 * 1024;

/// The simulated glasses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GlassesModel {
    /// By name; the server looks up their capabilities, or hides no tools.
    Known(String),
    /// With capabilities from a file.
    Custom(Box<Capabilities>),
}

impl GlassesModel {
    /// Reads a profile.
    pub(super) fn from_profile(file: &Path) -> Result<Self, CliError> {
        let wrong = |path: &str, message: String| CliError::Problems {
            what: file.display().to_string(),
            problems: vec![Problem::new(path, message)],
        };
        let text = input::read_text_file(file, MAX_PROFILE_BYTES)?;
        let capabilities: Capabilities =
            serde_json::from_str(&text).map_err(|error| wrong("", error.to_string()))?;
        if capabilities.model_name.trim().is_empty() {
            return Err(wrong("modelName", "missing; the glasses need a name".to_owned()));
        }
        Ok(Self::Custom(Box::new(capabilities)))
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Known(name) => name,
            Self::Custom(capabilities) => &capabilities.model_name,
        }
    }

    /// A note for the user if the model has no profile.
    pub(super) fn profile_note(&self) -> Option<String> {
        match self {
            Self::Known(name) if find_profile(name).is_none() => {
                let known = profile_names().collect::<Vec<_>>().join(", ");
                Some(format!("`{name}` has no profile, so no tools are hidden; profiles: {known}"))
            }
            Self::Known(_) | Self::Custom(_) => None,
        }
    }

    /// The message that introduces the device.
    pub(super) fn introduction_message(&self) -> FromDevice {
        match self {
            Self::Known(name) => FromDevice::GlassesConnectionState(GlassesConnection {
                model_name: Some(name.clone()),
                status: GlassesStatus::Connected,
                rest: MessageFields::default(),
            }),
            Self::Custom(capabilities) => FromDevice::DeviceProfile(Box::new(DeviceProfile {
                model_name: capabilities.model_name.clone(),
                capabilities: (**capabilities).clone(),
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_glasses_send_their_name_and_custom_ones_their_profile() {
        let known = GlassesModel::Known(DEFAULT.to_owned());
        assert_eq!(
            known.introduction_message().to_text(),
            r#"{"type":"glasses_connection_state","modelName":"Even Realities G1","status":"CONNECTED"}"#
        );
        assert_eq!(known.profile_note(), None);
        assert!(GlassesModel::Known("Mine".to_owned()).profile_note().unwrap().contains("Mentra Live"));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("p.json");
        std::fs::write(&file, r#"{"modelName":"Mine","hasCamera":true}"#).unwrap();
        let custom = GlassesModel::from_profile(&file).unwrap();
        assert_eq!(custom.name(), "Mine");
        assert!(
            custom
                .introduction_message()
                .to_text()
                .starts_with(r#"{"type":"device_profile","modelName":"Mine","capabilities":{"#)
        );
    }

    #[test]
    fn a_profile_needs_a_name_and_has_a_size_limit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("p.json");
        for text in ["{}", "[]", "x", r#"{"modelName":" "}"#] {
            std::fs::write(&file, text).unwrap();
            assert!(matches!(GlassesModel::from_profile(&file), Err(CliError::Problems { .. })), "{text}");
        }
        std::fs::write(&file, " ".repeat(MAX_PROFILE_BYTES + 1)).unwrap();
        assert!(matches!(GlassesModel::from_profile(&file), Err(CliError::TooLarge { .. })));
    }
}
