//! Every kind of message that an app can send.
//!
//! One list makes the enum, its names and [`AppMessageKind::KNOWN`], so a new kind cannot be left out of any of them.

macro_rules! message_kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)+) => {
        /// A kind of message from an app.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum AppMessageKind {
            $($(#[$doc])* $kind,)+
            /// A kind that we do not know.
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
    /// The first message: who is there.
    ConnectionInit = "tpa_connection_init",
    /// The first message after a loss, in SDK 3.
    Reconnect = "reconnect",
    /// Everything that the app wants to hear.
    SubscriptionUpdate = "subscription_update",
    /// Show something.
    DisplayEvent = "display_event",
    /// Play a sound.
    AudioPlayRequest = "audio_play_request",
    /// Stop the app's sounds.
    AudioStopRequest = "audio_stop_request",
    /// Take a picture.
    PhotoRequest = "photo_request",
    /// Say once where the user is.
    LocationPollRequest = "location_poll_request",
    /// Switch a lamp.
    RgbLedControl = "rgb_led_control",
    /// Send live video somewhere.
    RtmpStreamRequest = "rtmp_stream_request",
    /// Stop it.
    RtmpStreamStop = "rtmp_stream_stop",
    /// Send live video by way of the platform.
    ManagedStreamRequest = "managed_stream_request",
    /// Stop it.
    ManagedStreamStop = "managed_stream_stop",
    /// Say whether there is live video.
    StreamStatusCheck = "stream_status_check",
    /// Text for the dashboard.
    DashboardContentUpdate = "dashboard_content_update",
    /// Another mode of the dashboard.
    DashboardModeChange = "dashboard_mode_change",
    /// Text of the system for the dashboard.
    DashboardSystemUpdate = "dashboard_system_update",
    /// Ask the user to set up a network.
    RequestWifiSetup = "request_wifi_setup",
    /// Do not start the app again when this socket closes.
    OwnershipRelease = "ownership_release",
    /// Is the platform there? SDK 3 only.
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
