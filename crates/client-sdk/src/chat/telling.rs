//! One response, from its head to its end.

use std::time::Duration;

use bytes::BytesMut;
use futures_util::StreamExt as _;
use tokio::time::{Instant, timeout};

use super::{ChatError, Event, Refusal, Teller};
use crate::{
    stream::{Chunk, Reader},
    wire::{EVENT_STREAM, Pieces, Wire, WireAnswer, WireError, WireRequest},
};

/// How long it may take until a response begins; the model itself may take longer.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// Without a word for this long the connection is gone: a server that works says so every 15 seconds.
pub const SILENCE: Duration = Duration::from_secs(120);
/// How long a response may go on after its end, so that what should not come after it is noticed.
pub const LINGER: Duration = Duration::from_secs(1);
/// How much of a refusal is read, in bytes, and for how long.
const REFUSAL_BYTES: usize = 1024 * 1024;
const REFUSAL_TIME: Duration = Duration::from_secs(10);
/// Nothing to hear again.
const NO_CONTENT: u16 = 204;

/// Whether chunks are told as they came, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Raw {
    Told,
    Untold,
}

/// Sends a request and tells the response to its end.
pub(super) async fn tell(
    wire: &dyn Wire,
    request: WireRequest,
    raw: Raw,
    teller: &Teller,
) -> Result<(), ChatError> {
    let again = match &request {
        WireRequest::Again { chat_id } => Some(chat_id.clone()),
        WireRequest::Chat(_) => None,
    };
    let answer = match timeout(HEAD_TIMEOUT, wire.send(request)).await {
        Ok(answer) => answer?,
        Err(_) => return Err(WireError::TooSlow { wait: HEAD_TIMEOUT }.into()),
    };
    let WireAnswer { status, content_type, model, pieces } = answer;
    if let (NO_CONTENT, Some(chat_id)) = (status, again) {
        return Err(ChatError::NothingToResume { chat_id });
    }
    if !(200..300).contains(&status) {
        return Err(refusal(status, pieces).await);
    }
    if !content_type.is_some_and(|kind| kind.starts_with(EVENT_STREAM)) {
        return Err(ChatError::NoStream { status });
    }
    teller.heard.with(|heard| heard.answered_by(model));
    follow(pieces, raw, teller).await
}

async fn refusal(status: u16, mut pieces: Pieces) -> ChatError {
    let mut body = BytesMut::new();
    let reading = async {
        while let Some(Ok(piece)) = pieces.next().await {
            let room = REFUSAL_BYTES - body.len();
            body.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.len() >= room {
                break;
            }
        }
    };
    // What was read in time says enough.
    let _ = timeout(REFUSAL_TIME, reading).await;
    ChatError::Refused(Refusal::read(status, body.freeze()))
}

async fn follow(mut pieces: Pieces, raw: Raw, teller: &Teller) -> Result<(), ChatError> {
    let known = teller.heard.with(|heard| heard.known_calls());
    let mut reader = Reader::going_on(known.iter().map(String::as_str));
    loop {
        let patience = if reader.is_over() { LINGER } else { SILENCE };
        match timeout(patience, pieces.next()).await {
            Ok(Some(Ok(piece))) => reader.push(&piece),
            // All was said; how the connection ends does not matter.
            Ok(Some(Err(_))) | Err(_) if reader.is_over() => return Ok(()),
            Ok(Some(Err(error))) => return Err(error.into()),
            Err(_) => return Err(ChatError::Silent { wait: SILENCE }),
            Ok(None) => {
                reader.end();
                hear_all(&mut reader, raw, teller).await?;
                return if reader.is_over() { Ok(()) } else { Err(ChatError::Cut) };
            }
        }
        hear_all(&mut reader, raw, teller).await?;
    }
}

async fn hear_all(reader: &mut Reader, raw: Raw, teller: &Teller) -> Result<(), ChatError> {
    while let Some(told) = reader.next_chunk() {
        let told = told?;
        let failed = match &told.chunk {
            Chunk::Error { text } => Some(ChatError::Failed(text.clone())),
            _ => None,
        };
        let events = teller.heard.with(|heard| heard.hear(told.chunk, Instant::now()));
        if raw == Raw::Told {
            teller.say(Event::Chunk { json: String::from_utf8_lossy(&told.json).into_owned() }).await;
        }
        for event in events.into_iter().flatten() {
            teller.say(event).await;
        }
        if let Some(error) = failed {
            return Err(error);
        }
    }
    Ok(())
}
