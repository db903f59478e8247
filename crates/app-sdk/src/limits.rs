//! Every bound of an app: sizes are fixed, numbers and times can be set.

use std::time::Duration;

/// Largest body that an app takes.
pub const MAX_BODY_BYTES: usize = 1024 * 1024;
/// Largest reply of a tool; the platform takes no larger one.
pub const MAX_REPLY_BYTES: usize = 1024 * 1024;
/// Largest message that an app takes over its socket.
pub const MAX_MESSAGE_BYTES: usize = 1024 * 1024;
/// Longest text for one `speak`, in bytes. It travels inside a URL.
pub const MAX_SPEECH_BYTES: usize = 4 * 1024;

/// Messages of one session that wait for the socket.
pub(crate) const OUTBOX: usize = 64;
/// Events of one stream that wait for a slow reader; older ones are lost and counted.
pub(crate) const EVENT_QUEUE: usize = 64;
/// Progress reports of one call that wait for the connection; later ones are left out.
pub(crate) const PROGRESS_QUEUE: usize = 32;
/// Texts of one session that are being spoken at the same time.
pub(crate) const MAX_SPEAKING: usize = 16;
/// How far the time in a signature may be away from ours, in milliseconds.
pub(crate) const SIGNATURE_TOLERANCE_MS: i64 = 5 * 60 * 1000;
/// Longest farewell on a socket that closes.
pub(crate) const CLOSE_WAIT: Duration = Duration::from_millis(500);
/// How long a new session waits for the end of the one before; longer than a farewell takes.
pub(crate) const REPLACE_WAIT: Duration = Duration::from_secs(1);
/// Longest upload of tool definitions.
pub(crate) const REGISTER_WAIT: Duration = Duration::from_secs(30);
/// Pings do not come more often than this, whatever is set.
pub(crate) const SHORTEST_PING: Duration = Duration::from_millis(10);
/// Without a sign of life during so many pings a socket counts as lost.
pub(crate) const SILENT_PINGS: u32 = 3;

/// The bounds that an app can set. The defaults suit the platform; change one like this:
///
/// ```
/// # use toolyard_app_sdk::Limits;
/// let limits = Limits { sessions: 50, ..Limits::default() };
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppLimits {
    /// Sessions at the same time; a request for one more is answered with 503.
    pub sessions: usize,
    /// Tool calls at the same time; one more is answered with `OVERLOADED`.
    pub calls: usize,
    /// Dial, first message and acknowledgement together. The platform gives up after 5 s as well.
    pub connect_wait: Duration,
    /// How long to wait before each try after a lost connection. After the last one the session ends.
    pub reconnect_after: Vec<Duration>,
    /// How often the connection is checked. It counts as lost when nothing came during three checks.
    pub ping_every: Duration,
    /// How long a message may wait for its turn on the socket.
    pub send_wait: Duration,
    /// How long `speak` waits until the text was spoken.
    pub speech_wait: Duration,
    /// How long a handler may still run after its call was cancelled, or a hook after its session ended.
    pub cancel_grace: Duration,
    /// How long a stop waits for calls under way, and then for everything else.
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
