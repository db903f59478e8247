//! Streams that apps can subscribe to.
//!
//! [`StreamKind`] names them, [`permission`] maps them to permissions, [`subscription`] is one subscription of an app,
//! [`subscription_set`] all of them, and [`StreamEvent`] is one event. Events are delivered elsewhere.

pub mod permission;
pub mod subscription;
pub mod subscription_set;

pub use permission::{Permission, PermissionSet, is_location, is_sensitive, required_permission};
pub use subscription::{MAX_SUBSCRIPTION_CHARS, RejectReason, RejectedSubscription, StreamSubscription};
pub use subscription_set::{MAX_SUBSCRIPTIONS, SubscriptionSet};

/// The default language of speech.
pub const DEFAULT_LANGUAGE: &str = "en-US";

/// A kind of stream, without the language or gesture that may follow its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the wire names")]
pub enum StreamKind {
    ButtonPress,
    HeadPosition,
    TouchEvent,
    GlassesBatteryUpdate,
    PhoneBatteryUpdate,
    GlassesConnectionState,
    LocationUpdate,
    LocationStream,
    VpsCoordinates,
    Transcription,
    Translation,
    Vad,
    AudioChunk,
    PhoneNotification,
    PhoneNotificationDismissed,
    CalendarEvent,
    StartApp,
    StopApp,
    OpenDashboard,
    CoreStatusUpdate,
    Video,
    PhotoRequest,
    PhotoResponse,
    RtmpStreamStatus,
    ManagedStreamStatus,
    SettingsUpdateRequest,
    CustomMessage,
    PhotoTaken,
    /// Everything: `all` or `*`.
    All,
    /// An unknown name.
    Other(String),
}

impl StreamKind {
    /// Every kind with a name of its own.
    pub const KNOWN: [Self; 29] = [
        Self::ButtonPress,
        Self::HeadPosition,
        Self::TouchEvent,
        Self::GlassesBatteryUpdate,
        Self::PhoneBatteryUpdate,
        Self::GlassesConnectionState,
        Self::LocationUpdate,
        Self::LocationStream,
        Self::VpsCoordinates,
        Self::Transcription,
        Self::Translation,
        Self::Vad,
        Self::AudioChunk,
        Self::PhoneNotification,
        Self::PhoneNotificationDismissed,
        Self::CalendarEvent,
        Self::StartApp,
        Self::StopApp,
        Self::OpenDashboard,
        Self::CoreStatusUpdate,
        Self::Video,
        Self::PhotoRequest,
        Self::PhotoResponse,
        Self::RtmpStreamStatus,
        Self::ManagedStreamStatus,
        Self::SettingsUpdateRequest,
        Self::CustomMessage,
        Self::PhotoTaken,
        Self::All,
    ];

    /// The kind with that name.
    pub fn from_name(name: &str) -> Self {
        match name {
            "*" => Self::All,
            // The name in SDK 3.
            "stream_status" => Self::RtmpStreamStatus,
            _ => {
                let known = Self::KNOWN.iter().find(|kind| kind.as_str() == name);
                known.cloned().unwrap_or_else(|| Self::Other(name.to_owned()))
            }
        }
    }

    /// The name on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::ButtonPress => "button_press",
            Self::HeadPosition => "head_position",
            Self::TouchEvent => "touch_event",
            Self::GlassesBatteryUpdate => "glasses_battery_update",
            Self::PhoneBatteryUpdate => "phone_battery_update",
            Self::GlassesConnectionState => "glasses_connection_state",
            Self::LocationUpdate => "location_update",
            Self::LocationStream => "location_stream",
            Self::VpsCoordinates => "vps_coordinates",
            Self::Transcription => "transcription",
            Self::Translation => "translation",
            Self::Vad => "VAD",
            Self::AudioChunk => "audio_chunk",
            Self::PhoneNotification => "phone_notification",
            Self::PhoneNotificationDismissed => "phone_notification_dismissed",
            Self::CalendarEvent => "calendar_event",
            Self::StartApp => "start_app",
            Self::StopApp => "stop_app",
            Self::OpenDashboard => "open_dashboard",
            Self::CoreStatusUpdate => "core_status_update",
            Self::Video => "video",
            Self::PhotoRequest => "photo_request",
            Self::PhotoResponse => "photo_response",
            Self::RtmpStreamStatus => "rtmp_stream_status",
            Self::ManagedStreamStatus => "managed_stream_status",
            Self::SettingsUpdateRequest => "settings_update_request",
            Self::CustomMessage => "custom_message",
            Self::PhotoTaken => "photo_taken",
            Self::All => "all",
            Self::Other(name) => name,
        }
    }
}

/// One event, as subscriptions match it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// Speech.
    Transcription {
        /// `en-US`
        language: String,
    },
    /// Translated speech.
    Translation {
        /// The language spoken.
        from: String,
        /// The language of the text.
        to: String,
    },
    /// The glasses were touched.
    Touch {
        /// `single_tap`
        gesture: String,
    },
    /// An event that its kind describes fully.
    Plain(StreamKind),
}

impl StreamEvent {
    /// The stream it belongs to.
    pub fn kind(&self) -> &StreamKind {
        match self {
            Self::Transcription { .. } => &StreamKind::Transcription,
            Self::Translation { .. } => &StreamKind::Translation,
            Self::Touch { .. } => &StreamKind::TouchEvent,
            Self::Plain(kind) => kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_its_kind() {
        for kind in StreamKind::KNOWN {
            assert_eq!(StreamKind::from_name(kind.as_str()), kind);
        }
        assert_eq!(StreamKind::from_name("*"), StreamKind::All);
        assert_eq!(StreamKind::from_name("stream_status"), StreamKind::RtmpStreamStatus);
        // The wire name is upper case; lower case is a different name.
        assert_eq!(StreamKind::from_name("vad"), StreamKind::Other("vad".to_owned()));
    }
}
