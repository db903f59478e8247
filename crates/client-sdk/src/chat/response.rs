//! Reads one response, from its headers to its end.

use std::time::Duration;

use bytes::BytesMut;
use futures_util::StreamExt as _;
use tokio::time::{Instant, timeout};

use super::{ChatError, ChatEvent, ChatRefusal, EventSender};
use crate::{
    stream::{StreamReader, UiChunk},
    wire::{ChatWire, EVENT_STREAM, WireBody, WireError, WireRequest, WireResponse},
};

/// How long to wait for the response headers. The model itself may take longer.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// A connection without data for this long counts as lost. A working server sends a keep-alive every 15 seconds.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a connection may stay open after the end of the answer, to detect chunks that must not follow it.
pub const LINGER: Duration = Duration::from_secs(1);
/// How much of an error response is read, in bytes, and for how long.
const REFUSAL_BYTES: usize = 1024 * 1024;
const REFUSAL_TIME: Duration = Duration::from_secs(10);
/// Status of a resume request when there is nothing to resume.
const NO_CONTENT: u16 = 204;

/// Whether raw chunks are emitted as events, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RawChunks {
    Emit,
    Skip,
}

/// Sends a request and emits the response as events to its end.
pub(super) async fn stream_response(
    wire: &dyn ChatWire,
    request: WireRequest,
    raw: RawChunks,
    sender: &EventSender,
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
    sender.transcript.with_lock(|transcript| transcript.set_model(model));
    stream_events(pieces, raw, sender).await
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
    // A partial body is enough for an error message.
    let _ = timeout(REFUSAL_TIME, reading).await;
    ChatError::Refused(ChatRefusal::from_response(status, body.freeze()))
}

async fn stream_events(mut pieces: WireBody, raw: RawChunks, sender: &EventSender) -> Result<(), ChatError> {
    let known = sender.transcript.with_lock(|transcript| transcript.known_calls());
    let mut reader = StreamReader::with_known_calls(known.iter().map(String::as_str));
    loop {
        let patience = if reader.is_over() { LINGER } else { IDLE_TIMEOUT };
        match timeout(patience, pieces.next()).await {
            Ok(Some(Ok(piece))) => reader.push(&piece),
            // The answer is complete; how the connection ends does not matter.
            Ok(Some(Err(_))) | Err(_) if reader.is_over() => return Ok(()),
            Ok(Some(Err(error))) => return Err(error.into()),
            Err(_) => return Err(ChatError::IdleTimeout { wait: IDLE_TIMEOUT }),
            Ok(None) => {
                reader.finish();
                send_chunk_events(&mut reader, raw, sender).await?;
                return if reader.is_over() { Ok(()) } else { Err(ChatError::Truncated) };
            }
        }
        send_chunk_events(&mut reader, raw, sender).await?;
    }
}

async fn send_chunk_events(
    reader: &mut StreamReader,
    raw: RawChunks,
    sender: &EventSender,
) -> Result<(), ChatError> {
    while let Some(received) = reader.next_chunk() {
        let received = received?;
        let failed = match &received.chunk {
            UiChunk::Error { error_text } => Some(ChatError::Failed(error_text.clone())),
            _ => None,
        };
        let events = sender
            .transcript
            .with_lock(|transcript| transcript.apply_chunk(received.chunk, Instant::now()))?;
        if raw == RawChunks::Emit {
            sender
                .send(ChatEvent::Chunk { json: String::from_utf8_lossy(&received.json).into_owned() })
                .await;
        }
        for event in events.into_iter().flatten() {
            sender.send(event).await;
        }
        if let Some(error) = failed {
            return Err(error);
        }
    }
    Ok(())
}
