//! Live users: the device with its capabilities, the running apps, their subscriptions and their pictures.
//!
//! The doors own the sockets and pump frames; this crate owns the state behind them and makes the decisions.
//!
//! | look for | in |
//! | --- | --- |
//! | how a sleeping app is woken, exactly once | `wake` |
//! | how it is stopped, and reconnects | `stop`, `reconnect` |
//! | the state of one app for one user | `run` |
//! | an app's socket: authentication and messages | `attach`, `app_socket` |
//! | what an app may send, and how fast | `message_rules`, `rate_limit` |
//! | apps' requests to the device, and its responses | `device_requests`, `photos`, `live_stream`, `pending` |
//! | a device's socket | `device_socket` |
//! | speech recognition | `voice`, `listen` |
//! | audio that apps play, and its signed URLs | `audio`, `speech_link` |
//! | the screen and the dashboard | `screen`, `dashboard` |
//! | queues to sockets | `outbox` |
//! | reactions to changed apps, installs and settings | `changes` |
//! | what the verbs of the platform change | `control` |
//!
//! Locks are held for the length of a state change, never across an await.

mod app_settings;
mod app_socket;
mod attach;
mod audio;
mod changes;
mod control;
mod dashboard;
mod device_requests;
mod device_socket;
mod device_state;
#[cfg(test)]
mod fixtures;
mod listen;
mod live_stream;
mod message_rules;
mod notice;
mod open;
mod outbox;
mod pending;
mod permissions;
mod photos;
mod rate_limit;
mod reconnect;
mod restore;
mod run;
mod screen;
mod sessions;
mod settings;
mod speech_link;
mod stop;
mod streams;
mod sweep;
mod user;
mod voice;
mod wake;
mod webhook;

pub use app_socket::AppSocket;
pub use attach::{AppIntroduction, AttachRefusal};
pub use device_socket::{DeviceOrder, DeviceSocket};
pub use listen::{TranscribedText, Transcriber};
pub use message_rules::{MessageOwner, MessageRule, OpenRule, message_rule};
pub use outbox::{Outbox, SocketFrame};
pub use rate_limit::MessageRate;
pub use sessions::{MARKED_PATH, SessionParts, Sessions};
pub use settings::SessionSettings;
pub use speech_link::{LinkError, SPEECH_PARAMETERS, SPEECH_SIGNATURE, SpeechLinks};
pub use voice::{SAMPLES_PER_SECOND, Utterance};
