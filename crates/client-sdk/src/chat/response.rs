//! One response, from its head to its end.

use std::time::Duration;

use bytes::BytesMut;
use futures_util::StreamExt as _;
use tokio::time::{Instant, timeout};

use super::{ChatError, ChatEvent, ChatRefusal, EventSender};
use crate::{
    stream::{StreamChunk, StreamReader},
    wire::{ChatWire, EVENT_STREAM, WireBody, WireError, WireRequest, WireResponse},
};

/// How long it may take until a response begins; the model itself may take longer.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// Without a word for this long the connection is gone: a server that works says so every 15 seconds.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a response may go on after its end, so that what should not come after it is noticed.
pub const LINGER: Duration = Duration::from_secs(1);
/// How much of a refusal is read, in bytes, and for how long.
const REFUSAL_BYTES: usize = 1024 * 1024;
const REFUSAL_TIME: Duration = Duration::from_secs(10);
/// Nothing to hear again.
const NO_CONTENT: u16 = 204;

/// Whether chunks are told as they came, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RawChunks {
    Emit,
    Skip,
}

/// Sends a request and tells the response to its end.
pub(super) async fn stream_response(
    wire: &dyn ChatWire,
    request: WireRequest,
    raw: RawChunks,
    teller: &EventSender,
) -> Result<(), ChatError> {
    let again = match &request {
        WireRequest::Resume { chat_id } => Some(chat_id.clone()),
        WireRequest::Chat(_) => None,
    };
    let answer = match timeout(HEAD_TIMEOUT, wire.send(request)).await {
        Ok(answer) => answer?,
        Err(_) => return Err(WireError::Timeout { wait: HEAD_TIMEOUT }.into()),
    };
    let WireResponse { status, content_type, model, body: pieces } = answer;
    if let (NO_CONTENT, Some(chat_id)) = (status, again) {
        return Err(ChatError::NothingToResume { chat_id });
    }
    if !(200..300).contains(&status) {
        return Err(read_refusal(status, pieces).await);
    }
    if !content_type.is_some_and(|kind| kind.starts_with(EVENT_STREAM)) {
        return Err(ChatError::NoStream { status });
    }
    teller.transcript.with_lock(|heard| heard.set_model(model));
    stream_events(pieces, raw, teller).await
}

async fn read_refusal(status: u16, mut pieces: WireBody) -> ChatError {
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
    ChatError::Refused(ChatRefusal::from_response(status, body.freeze()))
}

async fn stream_events(mut pieces: WireBody, raw: RawChunks, teller: &EventSender) -> Result<(), ChatError> {
    let known = teller.transcript.with_lock(|heard| heard.known_calls());
    let mut reader = StreamReader::with_known_calls(known.iter().map(String::as_str));
    loop {
        let patience = if reader.is_over() { LINGER } else { IDLE_TIMEOUT };
        match timeout(patience, pieces.next()).await {
            Ok(Some(Ok(piece))) => reader.push(&piece),
            // All was said; how the connection ends does not matter.
            Ok(Some(Err(_))) | Err(_) if reader.is_over() => return Ok(()),
            Ok(Some(Err(error))) => return Err(error.into()),
            Err(_) => return Err(ChatError::IdleTimeout { wait: IDLE_TIMEOUT }),
            Ok(None) => {
                reader.finish();
                send_chunk_events(&mut reader, raw, teller).await?;
                return if reader.is_over() { Ok(()) } else { Err(ChatError::Truncated) };
            }
        }
        send_chunk_events(&mut reader, raw, teller).await?;
    }
}

async fn send_chunk_events(
    reader: &mut StreamReader,
    raw: RawChunks,
    teller: &EventSender,
) -> Result<(), ChatError> {
    while let Some(told) = reader.next_chunk() {
        let told = told?;
        let failed = match &told.chunk {
            StreamChunk::Error { text } => Some(ChatError::Failed(text.clone())),
            _ => None,
        };
        let events = teller.transcript.with_lock(|heard| heard.apply_chunk(told.chunk, Instant::now()));
        if raw == RawChunks::Emit {
            teller.send(ChatEvent::Chunk { json: String::from_utf8_lossy(&told.json).into_owned() }).await;
        }
        for event in events.into_iter().flatten() {
            teller.send(event).await;
        }
        if let Some(error) = failed {
            return Err(error);
        }
    }
    Ok(())
}
