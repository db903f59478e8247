//! What can go wrong with a session.

use std::time::Duration;

use toolyard_protocol::stream::{MAX_SUBSCRIPTIONS, RejectedSubscription};

use crate::limits::{MAX_SPEAKING, MAX_SPEECH_BYTES};

/// Why something could not be shown, spoken or heard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// Lost or over; what was to be shown is not kept.
    #[error("the platform cannot be reached for this user now; try again when the session is connected")]
    NotConnected,
    /// The socket takes messages too slowly.
    #[error("too many messages wait for the socket; send fewer")]
    Busy,
    /// Not the name of a stream.
    #[error("no such stream: {0}")]
    NotAStream(#[from] RejectedSubscription),
    /// One stream too many.
    #[error("a session can listen to {MAX_SUBSCRIPTIONS} streams; drop the `Events` that are not needed")]
    TooManyStreams,
    /// A text that does not fit into a request.
    #[error("the text has {0} bytes; at most {MAX_SPEECH_BYTES} can be spoken at once")]
    SpeechTooLong(usize),
    /// Everybody talks at once.
    #[error("{MAX_SPEAKING} texts are being spoken already; wait for one of them")]
    TooMuchSpeech,
    /// The device could not speak.
    #[error("the text was not spoken: {0}")]
    NotSpoken(String),
    /// The device did not say whether it has spoken.
    #[error("no word within {0:?} on whether the text was spoken")]
    NoAnswer(Duration),
}
