//! The WebSocket between an app and the platform.
//!
//! [`FromApp`] are the messages from apps, [`ToApp`] those to apps. Apps on an older SDK treat an unknown type as an
//! error, so only [`ToApp`] may be sent to them.

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
