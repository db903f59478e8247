//! Errors of a session.

use std::time::Duration;

use toolyard_protocol::stream::{MAX_SUBSCRIPTIONS, RejectedSubscription};

use crate::limits::{MAX_SPEAKING, MAX_SPEECH_BYTES};

/// Why a session could not show, speak or subscribe.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The connection is lost or the session has ended. The message is not queued.
    #[error("the platform cannot be reached for this user now; try again when the session is connected")]
    NotConnected,
    /// The socket is too slow.
    #[error("too many messages wait for the socket; send fewer")]
    Busy,
    /// The stream name is invalid.
    #[error("no such stream: {0}")]
    NotAStream(#[from] RejectedSubscription),
    /// Too many streams.
    #[error(
        "a session can subscribe to {MAX_SUBSCRIPTIONS} streams; drop the `SessionEvents` that are not needed"
    )]
    TooManyStreams,
    /// The text is too long.
    #[error("the text has {0} bytes; at most {MAX_SPEECH_BYTES} can be spoken at once")]
    SpeechTooLong(usize),
    /// Too many texts at the same time.
    #[error("{MAX_SPEAKING} texts are being spoken already; wait for one of them")]
    TooMuchSpeech,
    /// The device could not speak.
    #[error("the text was not spoken: {0}")]
    NotSpoken(String),
    /// The device did not confirm that it spoke the text.
    #[error("no confirmation within {0:?} that the text was spoken")]
    NoAnswer(Duration),
}
