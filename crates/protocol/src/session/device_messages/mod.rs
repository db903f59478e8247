//! The WebSocket between a device (a phone with or without glasses, or a simulator) and the platform.
//!
//! [`FromDevice`] are the messages from devices, [`ToDevice`] those to devices. Audio is sent in binary frames.

mod device_event;
mod from_device;
mod to_device;

pub use device_event::{ButtonPressKind, DeviceEvent, HeadDirection};
pub use from_device::{AppOrder, DeviceProfile, FromDevice, GlassesConnection, GlassesStatus};
pub use to_device::{
    AppNotice, AppStateChange, DeviceConnectionAck, DeviceConnectionError, DeviceDisplay, LocationRequest,
    LocationTier, MicrophoneStateChange, ToDevice, WifiSetup,
};
