//! A session: one user who has the app open.
//!
//! | look for | in |
//! | --- | --- |
//! | what an app does with a session | [`Session`], `show`, `speak`, `events` |
//! | starting a session | `start` |
//! | which server a session may connect to | `platform` |
//! | dial, first message, acknowledgement | `connect` |
//! | the task of a session, including reconnects | `session_task` |
//! | one connection | `exchange` |
//! | all sessions of the app | `table` |

mod connect;
mod end;
mod error;
mod events;
mod exchange;
mod platform;
mod session_task;
mod settings;
mod show;
mod speak;
mod start;
mod streams;
mod table;

use std::{fmt, sync::Arc};

use tokio::{
    sync::{mpsc, watch},
    time::timeout,
};
use toolyard_protocol::{
    AppSessionId, UserId,
    device::Capabilities,
    session::{
        AppSender, FromApp,
        app_messages::{ConnectionAck, ConnectionInit},
        iso_millis,
    },
};

pub(crate) use connect::AppSocketDialer;
pub use end::EndReason;
pub use error::SessionError;
pub use events::{ButtonPress, PressType, SessionEvents};
pub(crate) use platform::PlatformServer;
pub use settings::UserSettings;
pub use show::ShowRequest;
pub(crate) use start::{SessionStartError, start_session};
pub(crate) use table::SessionTable;

use crate::{
    clock::Clock,
    limits::{AppLimits, OUTBOX},
};
use end::EndRequest;
use speak::PendingSpeech;
use streams::SubscribedStreams;

/// Whether the platform can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionConnection {
    /// The socket is open.
    Connected,
    /// The connection is lost, and the SDK tries to reconnect.
    Lost,
    /// The session has ended permanently.
    Ended,
}

/// One user who has the app open. Cheap to clone: every clone is the same session.
///
/// ```no_run
/// # async fn example(session: toolyard_app_sdk::Session) -> Result<(), toolyard_app_sdk::SessionError> {
/// session.show_text_wall("Say something").await?;
/// let mut speech = session.on_transcription("en-US")?;
/// while let Some(transcription) = speech.next().await {
///     session.show_double_text_wall("You said", transcription.text).await?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Session(Arc<SessionState>);

struct SessionState {
    sender: AppSender,
    user: UserId,
    /// `http(s)://host:port` of the platform.
    platform: String,
    clock: Arc<dyn Clock>,
    limits: AppLimits,
    outbox: mpsc::Sender<FromApp>,
    connection: watch::Sender<SessionConnection>,
    capabilities: watch::Sender<Option<Arc<Capabilities>>>,
    settings: watch::Sender<UserSettings>,
    streams: SubscribedStreams,
    speaking: PendingSpeech,
    ending: EndRequest,
}

impl Session {
    /// A session, and the queue of its outgoing messages.
    pub(crate) fn new(
        sender: AppSender,
        user: UserId,
        platform: String,
        clock: Arc<dyn Clock>,
        limits: AppLimits,
    ) -> (Self, mpsc::Receiver<FromApp>) {
        let (outbox, waiting) = mpsc::channel(OUTBOX);
        let inner = SessionState {
            sender,
            user,
            platform,
            clock,
            limits,
            outbox,
            connection: watch::Sender::new(SessionConnection::Connected),
            capabilities: watch::Sender::default(),
            settings: watch::Sender::default(),
            streams: SubscribedStreams::default(),
            speaking: PendingSpeech::default(),
            ending: EndRequest::default(),
        };
        (Self(Arc::new(inner)), waiting)
    }

    /// The user.
    pub fn user(&self) -> &UserId {
        &self.0.user
    }

    /// The session's id on the platform.
    pub fn id(&self) -> &AppSessionId {
        &self.0.sender.session_id
    }

    /// The capabilities of the glasses, if any are connected.
    pub fn capabilities(&self) -> Option<Arc<Capabilities>> {
        self.0.capabilities.borrow().clone()
    }

    /// Watches the capabilities, which change with other glasses.
    pub fn watch_capabilities(&self) -> watch::Receiver<Option<Arc<Capabilities>>> {
        self.0.capabilities.subscribe()
    }

    /// The user's current settings.
    pub fn settings(&self) -> UserSettings {
        self.0.settings.borrow().clone()
    }

    /// Watches the settings.
    pub fn watch_settings(&self) -> watch::Receiver<UserSettings> {
        self.0.settings.subscribe()
    }

    /// The state of the connection.
    pub fn connection(&self) -> SessionConnection {
        *self.0.connection.borrow()
    }

    /// Watches the state of the connection.
    pub fn watch_connection(&self) -> watch::Receiver<SessionConnection> {
        self.0.connection.subscribe()
    }

    /// Waits until the session has ended.
    pub async fn ended(&self) {
        // The session owns the sender, so this cannot fail.
        let _ = self.0.connection.subscribe().wait_for(|now| *now == SessionConnection::Ended).await;
    }

    /// Queues a message for the socket. Waits while the queue is full, within a time limit.
    async fn send(&self, message: FromApp) -> Result<(), SessionError> {
        if self.connection() != SessionConnection::Connected {
            return Err(SessionError::NotConnected);
        }
        match timeout(self.0.limits.send_wait, self.0.outbox.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(SessionError::NotConnected),
            Err(_) => Err(SessionError::Busy),
        }
    }

    /// Encodes a message for the socket.
    fn encode_message(&self, message: &FromApp) -> String {
        message.to_text(&self.0.sender, &self.timestamp_now())
    }

    fn timestamp_now(&self) -> String {
        iso_millis(self.0.clock.now())
    }

    /// Marks the session as connected, at the start or after a reconnect.
    fn mark_connected(&self, ack: ConnectionAck) {
        self.0.capabilities.send_if_modified(|now| replace_value(now, ack.capabilities));
        self.0.settings.send_if_modified(|now| {
            let then = now.with_updates(ack.settings.as_deref(), ack.system_settings);
            replace_value(now, then)
        });
        self.0.connection.send_replace(SessionConnection::Connected);
    }

    /// Marks the session as ended and ends its streams.
    fn mark_ended(&self) {
        self.0.connection.send_replace(SessionConnection::Ended);
        self.0.streams.close();
        self.0.speaking.close();
    }

    /// Requests the end of the session. The first reason counts.
    pub(crate) fn request_end(&self, reason: EndReason) {
        self.0.ending.request(reason);
    }

    /// Replaces the settings with those that the platform posted over HTTP.
    pub(crate) fn replace_settings(&self, settings: &[serde_json::Value]) {
        self.0.settings.send_if_modified(|now| {
            let then = now.with_updates(Some(settings), None);
            replace_value(now, then)
        });
    }

    fn is_same_session(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Replaces a value and returns whether it changed.
fn replace_value<T: PartialEq>(now: &mut T, then: T) -> bool {
    let changed = *now != then;
    *now = then;
    changed
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", self.id())
            .field("user", self.user())
            .field("connection", &self.connection())
            .finish_non_exhaustive()
    }
}

/// The first message of every connection of a session.
fn init_message(sender: &AppSender, api_key: &toolyard_protocol::secret::SecretText, now: String) -> String {
    let init = ConnectionInit {
        session_id: Some(sender.session_id.clone()),
        package_name: sender.package_name.clone(),
        api_key: api_key.clone(),
        sdk_version: None,
        timestamp: Some(now.clone()),
    };
    FromApp::ConnectionInit(init).to_text(sender, &now)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clock::SystemClock;

    /// A session whose socket takes nothing.
    pub(super) fn stuck() -> (Session, mpsc::Receiver<FromApp>) {
        let sender = AppSender {
            package_name: "com.example.todo".parse().unwrap(),
            session_id: "s-1".parse().unwrap(),
        };
        let limits = AppLimits { send_wait: Duration::from_millis(1), ..AppLimits::default() };
        let platform = "http://127.0.0.1:8787".to_owned();
        Session::new(sender, "ada@example.com".parse().unwrap(), platform, Arc::new(SystemClock), limits)
    }

    #[tokio::test]
    async fn a_full_queue_times_out() {
        let (session, mut waiting) = stuck();
        for _ in 0..OUTBOX {
            session.show_text_wall("x").await.unwrap();
        }
        assert_eq!(session.show_text_wall("x").await.unwrap_err(), SessionError::Busy);
        waiting.recv().await.unwrap();
        session.show_text_wall("x").await.unwrap();
    }

    #[tokio::test]
    async fn nothing_is_queued_without_a_connection() {
        let (session, waiting) = stuck();
        session.0.connection.send_replace(SessionConnection::Lost);
        assert_eq!(session.show_text_wall("x").await.unwrap_err(), SessionError::NotConnected);
        assert_eq!(session.speak("x").await.unwrap_err(), SessionError::NotConnected);
        assert_eq!(waiting.len(), 0);
    }
}
