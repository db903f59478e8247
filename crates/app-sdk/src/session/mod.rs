//! A session: one user who has the app open.
//!
//! | look for | in |
//! | --- | --- |
//! | what an app does with a session | [`Session`], `show`, `speak`, `events` |
//! | from a request to a running session | `start` |
//! | which server may be dialed | `platform` |
//! | dial, first message, acknowledgement | `connect` |
//! | the life of a session, reconnects included | `life` |
//! | what goes over one connection | `exchange` |
//! | all sessions of the app | `table` |

mod connect;
mod end;
mod error;
mod events;
mod exchange;
mod life;
mod platform;
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
        FromApp, Sender,
        app_messages::{ConnectionAck, ConnectionInit},
        iso_millis,
    },
};

pub(crate) use connect::Dialer;
pub use end::EndReason;
pub use error::SessionError;
pub use events::{ButtonPress, Events, PressType};
pub(crate) use platform::Platform;
pub use settings::Settings;
pub use show::Show;
pub(crate) use start::{StartError, start};
pub(crate) use table::Sessions;

use crate::{
    clock::Clock,
    limits::{Limits, OUTBOX},
};
use end::Ending;
use speak::Speaking;
use streams::Streams;

/// Whether the platform can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// The socket is open.
    Connected,
    /// The socket broke, and the SDK tries to get it back.
    Lost,
    /// The session is over, for good.
    Ended,
}

/// One user who has the app open. Cheap to clone; every clone is the same session.
///
/// ```no_run
/// # async fn example(session: toolyard_app_sdk::Session) -> Result<(), toolyard_app_sdk::SessionError> {
/// session.show_text_wall("Say something").await?;
/// let mut speech = session.on_transcription("en-US")?;
/// while let Some(heard) = speech.next().await {
///     session.show_double_text_wall("You said", heard.text).await?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Session(Arc<Inner>);

struct Inner {
    sender: Sender,
    user: UserId,
    /// `http(s)://host:port` of the platform.
    platform: String,
    clock: Arc<dyn Clock>,
    limits: Limits,
    outbox: mpsc::Sender<FromApp>,
    connection: watch::Sender<Connection>,
    capabilities: watch::Sender<Option<Arc<Capabilities>>>,
    settings: watch::Sender<Settings>,
    streams: Streams,
    speaking: Speaking,
    ending: Ending,
}

impl Session {
    /// A session and what waits for its socket.
    pub(crate) fn new(
        sender: Sender,
        user: UserId,
        platform: String,
        clock: Arc<dyn Clock>,
        limits: Limits,
    ) -> (Self, mpsc::Receiver<FromApp>) {
        let (outbox, waiting) = mpsc::channel(OUTBOX);
        let inner = Inner {
            sender,
            user,
            platform,
            clock,
            limits,
            outbox,
            connection: watch::Sender::new(Connection::Connected),
            capabilities: watch::Sender::default(),
            settings: watch::Sender::default(),
            streams: Streams::default(),
            speaking: Speaking::default(),
            ending: Ending::default(),
        };
        (Self(Arc::new(inner)), waiting)
    }

    /// Whose session it is.
    pub fn user(&self) -> &UserId {
        &self.0.user
    }

    /// The session's id on the platform.
    pub fn id(&self) -> &AppSessionId {
        &self.0.sender.session_id
    }

    /// What the glasses can do, if there are any that the platform knows.
    pub fn capabilities(&self) -> Option<Arc<Capabilities>> {
        self.0.capabilities.borrow().clone()
    }

    /// The same, to wait for other glasses.
    pub fn watch_capabilities(&self) -> watch::Receiver<Option<Arc<Capabilities>>> {
        self.0.capabilities.subscribe()
    }

    /// The user's settings now.
    pub fn settings(&self) -> Settings {
        self.0.settings.borrow().clone()
    }

    /// The same, to wait for a change.
    pub fn watch_settings(&self) -> watch::Receiver<Settings> {
        self.0.settings.subscribe()
    }

    /// Whether the platform can be reached now.
    pub fn connection(&self) -> Connection {
        *self.0.connection.borrow()
    }

    /// The same, to wait for a change.
    pub fn watch_connection(&self) -> watch::Receiver<Connection> {
        self.0.connection.subscribe()
    }

    /// Waits until the session is over.
    pub async fn ended(&self) {
        // The sender lives in the session itself, so there is always an answer.
        let _ = self.0.connection.subscribe().wait_for(|now| *now == Connection::Ended).await;
    }

    /// Queues a message for the socket; waits, within a bound, while the queue is full.
    async fn send(&self, message: FromApp) -> Result<(), SessionError> {
        if self.connection() != Connection::Connected {
            return Err(SessionError::NotConnected);
        }
        match timeout(self.0.limits.send_wait, self.0.outbox.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(SessionError::NotConnected),
            Err(_) => Err(SessionError::Busy),
        }
    }

    /// A message as it goes over the socket.
    fn write(&self, message: &FromApp) -> String {
        message.to_text(&self.0.sender, &self.now())
    }

    fn now(&self) -> String {
        iso_millis(self.0.clock.now())
    }

    /// The connection is there, for the first time or again.
    fn connected(&self, ack: ConnectionAck) {
        self.0.capabilities.send_if_modified(|now| replace(now, ack.capabilities));
        self.0.settings.send_if_modified(|now| {
            let then = now.with(ack.settings.as_deref(), ack.system_settings);
            replace(now, then)
        });
        self.0.connection.send_replace(Connection::Connected);
    }

    /// Nothing comes or goes any more.
    fn close(&self) {
        self.0.connection.send_replace(Connection::Ended);
        self.0.streams.close();
        self.0.speaking.close();
    }

    /// Asks the session to end. The first reason counts.
    pub(crate) fn end(&self, reason: EndReason) {
        self.0.ending.ask(reason);
    }

    /// Takes the settings that the platform posts beside the socket.
    pub(crate) fn take_settings(&self, settings: &[serde_json::Value]) {
        self.0.settings.send_if_modified(|now| {
            let then = now.with(Some(settings), None);
            replace(now, then)
        });
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Puts a value in place and says whether it is another one.
fn replace<T: PartialEq>(now: &mut T, then: T) -> bool {
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
fn init(sender: &Sender, api_key: &toolyard_protocol::secret::Secret, now: String) -> String {
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
        let sender =
            Sender { package_name: "com.example.todo".parse().unwrap(), session_id: "s-1".parse().unwrap() };
        let limits = Limits { send_wait: Duration::from_millis(1), ..Limits::default() };
        let platform = "http://127.0.0.1:8787".to_owned();
        Session::new(sender, "ada@example.com".parse().unwrap(), platform, Arc::new(SystemClock), limits)
    }

    #[tokio::test]
    async fn a_full_queue_is_an_error_and_no_wait_for_ever() {
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
        session.0.connection.send_replace(Connection::Lost);
        assert_eq!(session.show_text_wall("x").await.unwrap_err(), SessionError::NotConnected);
        assert_eq!(session.speak("x").await.unwrap_err(), SessionError::NotConnected);
        assert_eq!(waiting.len(), 0);
    }
}
