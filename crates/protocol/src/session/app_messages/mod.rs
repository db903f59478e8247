//! The socket between an app and the platform.
//!
//! [`FromApp`] is what apps say, [`ToApp`] what they hear. Apps on an older SDK take a type that they do not know for an
//! error, so nothing outside [`ToApp`] may be sent to one.

mod from_app;
mod kind;
mod to_app;

pub use from_app::{
    AppSender, ConnectionInit, FromApp, LocationPollRequest, OwnershipRelease, PhotoRequest,
    ReconnectRequest, RgbLedControl, SubscriptionUpdate, WifiSetupRequest,
};
pub use kind::AppMessageKind;
pub use to_app::{
    AppStopped, CapabilitiesUpdate, ConnectionAck, ConnectionError, CustomMessage, DataStream,
    DeviceStateUpdate, PermissionError, PermissionErrorDetail, ReconnectDeferred, ReconnectRejected,
    SettingsUpdate, SystemSettingsUpdate, ToApp,
};
