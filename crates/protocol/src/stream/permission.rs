//! Permissions that an app must declare to receive device data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StreamKind;

/// A permission that an app declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Permission {
    /// Speech and audio.
    Microphone,
    /// The user's location.
    Location,
    /// The user's location, also while the app is not open.
    BackgroundLocation,
    /// Calendar events.
    Calendar,
    /// Photos and video.
    Camera,
    /// Notifications of other apps. Older apps call it `NOTIFICATIONS`.
    #[serde(alias = "NOTIFICATIONS")]
    ReadNotifications,
    /// To notify the user.
    PostNotifications,
    /// All permissions.
    All,
}

impl Permission {
    /// Every permission.
    pub const EVERY: [Self; 8] = [
        Self::Microphone,
        Self::Location,
        Self::BackgroundLocation,
        Self::Calendar,
        Self::Camera,
        Self::ReadNotifications,
        Self::PostNotifications,
        Self::All,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Microphone => "MICROPHONE",
            Self::Location => "LOCATION",
            Self::BackgroundLocation => "BACKGROUND_LOCATION",
            Self::Calendar => "CALENDAR",
            Self::Camera => "CAMERA",
            Self::ReadNotifications => "READ_NOTIFICATIONS",
            Self::PostNotifications => "POST_NOTIFICATIONS",
            Self::All => "ALL",
        }
    }
}

impl std::fmt::Display for Permission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The permissions that an app has declared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermissionSet(Vec<Permission>);

impl PermissionSet {
    /// Whether a permission is declared. `ALL` includes every one, `BACKGROUND_LOCATION` includes `LOCATION`.
    pub fn has_permission(&self, permission: Permission) -> bool {
        self.0.iter().any(|declared| match declared {
            Permission::All => true,
            Permission::BackgroundLocation if permission == Permission::Location => true,
            declared => *declared == permission,
        })
    }

    /// Whether the app may receive the location while it is not open. `ALL` is not enough: this one must be declared explicitly.
    pub fn locates_in_background(&self) -> bool {
        self.0.contains(&Permission::BackgroundLocation)
    }

    /// Whether the app may receive a stream of that kind.
    pub fn allows_stream(&self, kind: &StreamKind) -> bool {
        required_permission(kind).is_none_or(|permission| self.has_permission(permission))
    }
}

impl FromIterator<Permission> for PermissionSet {
    fn from_iter<I: IntoIterator<Item = Permission>>(declared: I) -> Self {
        let mut permissions = Vec::new();
        for permission in declared {
            if !permissions.contains(&permission) {
                permissions.push(permission);
            }
        }
        Self(permissions)
    }
}

/// The permission that a stream requires. `all` itself requires none: each event is checked by
/// its own kind.
pub const fn required_permission(kind: &StreamKind) -> Option<Permission> {
    match kind {
        StreamKind::Transcription | StreamKind::Translation | StreamKind::Vad | StreamKind::AudioChunk => {
            Some(Permission::Microphone)
        }
        StreamKind::Video
        | StreamKind::PhotoRequest
        | StreamKind::PhotoResponse
        | StreamKind::PhotoTaken
        | StreamKind::RtmpStreamStatus
        | StreamKind::ManagedStreamStatus => Some(Permission::Camera),
        StreamKind::LocationUpdate | StreamKind::LocationStream | StreamKind::VpsCoordinates => {
            Some(Permission::Location)
        }
        StreamKind::CalendarEvent => Some(Permission::Calendar),
        StreamKind::PhoneNotification | StreamKind::PhoneNotificationDismissed => {
            Some(Permission::ReadNotifications)
        }
        StreamKind::ButtonPress
        | StreamKind::HeadPosition
        | StreamKind::TouchEvent
        | StreamKind::GlassesBatteryUpdate
        | StreamKind::PhoneBatteryUpdate
        | StreamKind::GlassesConnectionState
        | StreamKind::StartApp
        | StreamKind::StopApp
        | StreamKind::OpenDashboard
        | StreamKind::CoreStatusUpdate
        | StreamKind::SettingsUpdateRequest
        | StreamKind::CustomMessage
        | StreamKind::All
        | StreamKind::Other(_) => None,
    }
}

/// Whether an event of that kind comes from the microphone or the camera. An app woken by a call receives none of
/// them until the user opens it. Check the event, not the subscription: `all` is not an event.
pub const fn is_sensitive(kind: &StreamKind) -> bool {
    matches!(required_permission(kind), Some(Permission::Microphone | Permission::Camera))
}

/// Whether an event of that kind reveals the location. An app woken by a call receives it only if it declares
/// `BACKGROUND_LOCATION`.
pub const fn is_location(kind: &StreamKind) -> bool {
    matches!(required_permission(kind), Some(Permission::Location))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_text_is_what_serde_writes() {
        for permission in Permission::EVERY {
            assert_eq!(serde_json::to_value(permission).unwrap(), permission.as_str());
            assert_eq!(serde_json::from_value::<Permission>(permission.as_str().into()).unwrap(), permission);
        }
        assert!(serde_json::from_str::<Permission>("\"MICROPHON\"").is_err());
    }

    #[test]
    fn older_apps_call_it_notifications() {
        let old: Permission = serde_json::from_str("\"NOTIFICATIONS\"").unwrap();
        let declared: PermissionSet = [old].into_iter().collect();
        assert!(declared.allows_stream(&StreamKind::PhoneNotification));
        assert!(declared.allows_stream(&StreamKind::PhoneNotificationDismissed));
    }

    #[test]
    fn streams_need_what_they_were_made_with() {
        let table = [
            ("audio_chunk", Some("MICROPHONE"), true),
            ("transcription", Some("MICROPHONE"), true),
            ("translation", Some("MICROPHONE"), true),
            ("VAD", Some("MICROPHONE"), true),
            ("location_update", Some("LOCATION"), false),
            ("location_stream", Some("LOCATION"), false),
            ("calendar_event", Some("CALENDAR"), false),
            ("photo_taken", Some("CAMERA"), true),
            ("photo_response", Some("CAMERA"), true),
            ("rtmp_stream_status", Some("CAMERA"), true),
            ("managed_stream_status", Some("CAMERA"), true),
            ("phone_notification", Some("READ_NOTIFICATIONS"), false),
            ("button_press", None, false),
            ("augmentos:*", None, false),
        ];
        for (name, permission, sensitive) in table {
            let kind = StreamKind::from_name(name);
            assert_eq!(required_permission(&kind).map(Permission::as_str), permission, "{name}");
            assert_eq!(is_sensitive(&kind), sensitive, "{name}");
        }
    }

    #[test]
    fn the_background_permission_includes_the_plain_one_and_has_to_be_named() {
        let background: PermissionSet = [Permission::BackgroundLocation].into_iter().collect();
        assert!(background.allows_stream(&StreamKind::LocationUpdate) && background.locates_in_background());
        assert!(!background.has_permission(Permission::Camera));
        for other in [Permission::Location, Permission::All] {
            let declared: PermissionSet = [other].into_iter().collect();
            assert!(declared.allows_stream(&StreamKind::LocationUpdate) && !declared.locates_in_background());
        }
    }

    #[test]
    fn all_grants_everything_and_nothing_grants_nothing() {
        let all: PermissionSet = [Permission::All].into_iter().collect();
        let none = PermissionSet::default();
        for kind in StreamKind::KNOWN {
            assert!(all.allows_stream(&kind));
            assert_eq!(none.allows_stream(&kind), required_permission(&kind).is_none());
        }
    }
}
