//! Messages between apps, devices and the platform.
//!
//! Apps are started by [`webhook`] and then connect over a WebSocket ([`app_messages`]); devices connect over their own
//! ([`device_messages`]). Both directions are here, because the app SDK and the simulator use the other one. Types
//! only: sockets and permissions are handled elsewhere. Audio in binary frames has no type here.
//!
//! Parsing is lenient: unknown fields are ignored, and an unknown `type` is an `Unknown` and not an error. A known message with
//! invalid fields is a [`MalformedMessage`]. The sender of a message is known from the socket, so the fields in which senders
//! repeat their name are written but not read.

pub mod app_messages;
pub mod audio;
pub mod device_messages;
pub mod device_state;
pub mod display;
pub mod message;
pub mod speech;
pub mod time;
pub mod webhook;

pub use app_messages::{AppSender, FromApp, ToApp};
pub use device_messages::{FromDevice, ToDevice};
pub use device_state::DeviceState;
pub use display::{DisplayEvent, DisplayView, Layout};
pub use message::{MalformedMessage, MessageFields};
pub use time::iso_millis;
