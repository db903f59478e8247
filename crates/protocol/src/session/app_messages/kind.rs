//! Every kind of message that an app can send.
//!
//! One list defines the enum, its names and [`AppMessageKind::KNOWN`], so a new kind cannot be left out of any of them.

macro_rules! message_kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)+) => {
        /// A kind of message from an app.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum AppMessageKind {
            $($(#[$doc])* $kind,)+
            /// An unknown kind.
            Unknown,
        }

        impl AppMessageKind {
            /// Every kind with a name of its own.
            pub const KNOWN: &[Self] = &[$(Self::$kind),+];

            /// The name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                    Self::Unknown => "unknown",
                }
            }

            /// The kind with that name.
            pub fn from_name(name: &str) -> Self {
                match name {
                    $($name => Self::$kind,)+
                    // SDK 3 leaves out `rtmp_`.
                    "stream_request" => Self::RtmpStreamRequest,
                    "stream_stop" => Self::RtmpStreamStop,
                    _ => Self::Unknown,
                }
            }
        }
    };
}

message_kinds! {
    /// The first message: identifies the app.
    ConnectionInit = "tpa_connection_init",
    /// The first message after a lost connection, in SDK 3.
    Reconnect = "reconnect",
    /// All subscriptions of the app.
    SubscriptionUpdate = "subscription_update",
    /// Shows content.
    DisplayEvent = "display_event",
    /// Plays audio.
    AudioPlayRequest = "audio_play_request",
    /// Stops the app's audio.
    AudioStopRequest = "audio_stop_request",
    /// Takes a photo.
    PhotoRequest = "photo_request",
    /// Requests the location once.
    LocationPollRequest = "location_poll_request",
    /// Controls a light.
    RgbLedControl = "rgb_led_control",
    /// Starts a live video stream to a URL.
    RtmpStreamRequest = "rtmp_stream_request",
    /// Stops it.
    RtmpStreamStop = "rtmp_stream_stop",
    /// Starts a live video stream through the platform.
    ManagedStreamRequest = "managed_stream_request",
    /// Stops it.
    ManagedStreamStop = "managed_stream_stop",
    /// Asks whether a live video stream is active.
    StreamStatusCheck = "stream_status_check",
    /// Content for the dashboard.
    DashboardContentUpdate = "dashboard_content_update",
    /// Changes the mode of the dashboard.
    DashboardModeChange = "dashboard_mode_change",
    /// System content for the dashboard.
    DashboardSystemUpdate = "dashboard_system_update",
    /// Asks the user to set up Wi-Fi.
    RequestWifiSetup = "request_wifi_setup",
    /// Do not restart the app when this socket closes.
    OwnershipRelease = "ownership_release",
    /// Keep-alive. SDK 3 only.
    Ping = "ping",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_its_kind() {
        for kind in AppMessageKind::KNOWN {
            assert_eq!(AppMessageKind::from_name(kind.as_str()), *kind);
        }
        for name in ["", "unknown", "app_direct_message", "photo_response", "PHOTO_REQUEST"] {
            assert_eq!(AppMessageKind::from_name(name), AppMessageKind::Unknown, "{name}");
        }
        assert_eq!(AppMessageKind::from_name("stream_request"), AppMessageKind::RtmpStreamRequest);
    }
}
