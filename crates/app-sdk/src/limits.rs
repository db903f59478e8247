//! The limits of an app. Sizes are fixed; counts and times can be set.

use std::time::Duration;

/// Largest request body that an app accepts, in bytes.
pub const MAX_BODY_BYTES: usize = 1024 * 1024;
/// Largest reply of a tool, in bytes. The platform accepts no larger one.
pub const MAX_REPLY_BYTES: usize = 1024 * 1024;
/// Largest message that an app accepts over its socket, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 1024 * 1024;
/// Longest text for one `speak`, in bytes. It is sent in a URL.
pub const MAX_SPEECH_BYTES: usize = 4 * 1024;

/// Messages of one session that wait for the socket.
pub(crate) const OUTBOX: usize = 64;
/// Events of one stream that wait for a slow reader. Older ones are dropped and counted.
pub(crate) const EVENT_QUEUE: usize = 64;
/// Progress reports of one call that wait for the connection. Later ones are dropped.
pub(crate) const PROGRESS_QUEUE: usize = 32;
/// Texts of one session that may be spoken at the same time.
pub(crate) const MAX_SPEAKING: usize = 16;
/// Allowed clock difference of a signature, in milliseconds.
pub(crate) const SIGNATURE_TOLERANCE_MS: i64 = 5 * 60 * 1000;
/// Timeout for closing a socket.
pub(crate) const CLOSE_WAIT: Duration = Duration::from_millis(500);
/// How long a new session waits for the end of the previous one. Longer than closing a socket takes.
pub(crate) const REPLACE_WAIT: Duration = Duration::from_secs(1);
/// Timeout for the upload of tool definitions.
pub(crate) const REGISTER_WAIT: Duration = Duration::from_secs(30);
/// Shortest ping interval, whatever is configured.
pub(crate) const SHORTEST_PING: Duration = Duration::from_millis(10);
/// A socket counts as lost if nothing arrives during this many pings.
pub(crate) const SILENT_PINGS: u32 = 3;

/// The limits that an app can set. The defaults suit the platform. Change one like this:
///
/// ```
/// # use toolyard_app_sdk::AppLimits;
/// let limits = AppLimits { sessions: 50, ..AppLimits::default() };
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppLimits {
    /// Most sessions at the same time. The response to a request for another one is 503.
    pub sessions: usize,
    /// Most tool calls at the same time. Another one fails with `OVERLOADED`.
    pub calls: usize,
    /// Timeout for dialing, first message and acknowledgement together. The platform gives up after 5 s as well.
    pub connect_wait: Duration,
    /// How long to wait before each reconnect attempt. After the last one the session ends.
    pub reconnect_after: Vec<Duration>,
    /// The ping interval. The connection counts as lost when nothing arrives during three pings.
    pub ping_every: Duration,
    /// How long a message may wait to be sent.
    pub send_wait: Duration,
    /// How long `speak` waits until the text was spoken.
    pub speech_wait: Duration,
    /// How long a handler may still run after its call was cancelled, or a hook after its session ended.
    pub cancel_grace: Duration,
    /// How long a shutdown waits for running calls, and then for everything else.
    pub drain_wait: Duration,
}

impl Default for AppLimits {
    fn default() -> Self {
        Self {
            sessions: 10_000,
            calls: 1_024,
            connect_wait: Duration::from_secs(5),
            reconnect_after: [1, 2, 4].map(Duration::from_secs).to_vec(),
            ping_every: Duration::from_secs(30),
            send_wait: Duration::from_secs(5),
            speech_wait: Duration::from_secs(60),
            cancel_grace: Duration::from_secs(2),
            drain_wait: Duration::from_secs(10),
        }
    }
}
