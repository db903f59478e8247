//! The socket between a device (a phone with or without glasses, or a simulator) and the platform.
//!
//! [`FromDevice`] is what devices say, [`ToDevice`] what they hear. Sound goes in binary frames and has no type here.

mod device_event;
mod from_device;
mod to_device;

pub use device_event::{ButtonPressKind, DeviceEvent, HeadDirection};
pub use from_device::{AppOrder, DeviceProfile, FromDevice, GlassesConnection, GlassesStatus};
pub use to_device::{
    AppNotice, AppStateChange, DeviceConnectionAck, DeviceConnectionError, DeviceDisplay, LocationRequest,
    LocationTier, MicrophoneStateChange, ToDevice, WifiSetup,
};
