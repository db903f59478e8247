//! What apps, devices and the platform say to each other.
//!
//! Apps are started by [`webhook`] and then talk over a socket ([`app_messages`]); devices talk over theirs
//! ([`device_messages`]). Both sides of each are here, because our app SDK and our simulator speak the other one. Types
//! only: the sockets and who may say what are elsewhere. Binary frames (sound) have no type here.
//!
//! Reading is forgiving: unknown fields are ignored, an unknown `type` is an `Unknown` and no error. A known message with
//! wrong fields is [`MalformedMessage`]. Who sent a message is known from the socket, so the fields in which senders repeat
//! their name are written and not read.

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
