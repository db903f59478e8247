//! Streams a turn over HTTP in one of two protocols, with heartbeats while it is silent.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use http::{HeaderName, HeaderValue, header};
use toolyard_agent::{
    event::{TurnEndReason, TurnEvent},
    model::{ModelError, ModelErrorKind},
};
use toolyard_protocol::chat::{ChatProtocol, DATA_STREAM_HEADER, UI_STREAM_HEADER, ui, v1};

use super::{begin::ActiveTurn, ui::UiWriter, v1::V1Writer};

/// Size at which a chunk is sent even if more events are waiting.
const MAX_PIECE: usize = 64 * 1024;
/// Content type of server-sent events.
pub(super) const EVENT_STREAM: &str = "text/event-stream";
/// Interval of heartbeats on a silent stream.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(15);

/// Writes a turn in one of the two protocols.
pub(super) enum ChatWriter {
    Ui(UiWriter),
    V1(V1Writer),
}

impl ChatWriter {
    pub(super) fn new(protocol: ChatProtocol, message_id: &str) -> Self {
        match protocol {
            ChatProtocol::Ui => Self::Ui(UiWriter::default()),
            ChatProtocol::V1 => Self::V1(V1Writer::new(message_id.to_owned())),
        }
    }

    pub(super) const fn protocol(&self) -> ChatProtocol {
        match self {
            Self::Ui(_) => ChatProtocol::Ui,
            Self::V1(_) => ChatProtocol::V1,
        }
    }

    /// Bytes to send before the first event. `message_id` is the id of the continued message, or a new one.
    pub(super) fn preamble(&self, message_id: Option<&str>) -> Bytes {
        match self {
            Self::Ui(_) => UiWriter::start_chunk(message_id).into(),
            Self::V1(_) => Bytes::new(),
        }
    }

    /// Bytes for an event. The last event ends the stream.
    pub(super) fn write_event(&mut self, event: TurnEvent) -> Bytes {
        let last = matches!(event, TurnEvent::Ends(_));
        match self {
            Self::Ui(writer) => {
                let mut output = writer.write_event(event);
                if last {
                    output.push_str(UiWriter::done_marker());
                }
                output.into()
            }
            Self::V1(writer) => writer.write_event(event).into(),
        }
    }

    pub(super) const fn heartbeat(protocol: ChatProtocol) -> &'static [u8] {
        match protocol {
            ChatProtocol::Ui => ui::HEARTBEAT.as_bytes(),
            ChatProtocol::V1 => v1::HEARTBEAT.as_bytes(),
        }
    }
}

/// A turn that is being streamed.
struct TurnStream {
    turn: ActiveTurn,
    writer: ChatWriter,
    protocol: ChatProtocol,
    is_over: bool,
}

impl TurnStream {
    /// The next chunk: all events that are ready, or a heartbeat.
    async fn next(mut self) -> Option<(Bytes, Self)> {
        if self.is_over {
            return None;
        }
        let first = tokio::select! {
            event = self.turn.events.recv() => event.unwrap_or_else(vanished_turn_event),
            () = tokio::time::sleep(HEARTBEAT) => {
                return Some((Bytes::from_static(ChatWriter::heartbeat(self.protocol)), self));
            }
        };
        let chunk = self.write_ready_events(first);
        Some((chunk, self))
    }

    /// Writes all ready events as one chunk, because a write costs more than its bytes.
    fn write_ready_events(&mut self, first: TurnEvent) -> Bytes {
        self.is_over = matches!(first, TurnEvent::Ends(_));
        let chunk = self.writer.write_event(first);
        let Ok(second) = self.turn.events.try_recv() else { return chunk };
        let mut all = chunk.to_vec();
        let mut next = Some(second);
        while let Some(event) = next {
            self.is_over = matches!(event, TurnEvent::Ends(_));
            all.extend_from_slice(&self.writer.write_event(event));
            next = self.turn.events.try_recv().ok().filter(|_| all.len() < MAX_PIECE);
        }
        all.into()
    }
}

/// The last event of a turn whose task failed without one.
pub(super) fn vanished_turn_event() -> TurnEvent {
    let text = "The server failed during the response; see its log.".to_owned();
    let error = ModelError { kind: ModelErrorKind::Broken, text, cause: None, retry_after: None };
    TurnEvent::Ends(TurnEndReason::Failed(error))
}

/// The response to a chat request. The turn is cancelled when the client disconnects.
pub(super) fn turn_response(
    turn: ActiveTurn,
    writer: ChatWriter,
    protocol: ChatProtocol,
    message_id: Option<&str>,
) -> Response {
    let preamble = writer.preamble(message_id);
    let stream = TurnStream { turn, writer, protocol, is_over: false };
    protocol_response(protocol, stream::iter([preamble]).chain(stream::unfold(stream, TurnStream::next)))
}

/// A stream with the headers of its protocol.
pub(super) fn protocol_response(
    protocol: ChatProtocol,
    chunks: impl Stream<Item = Bytes> + Send + 'static,
) -> Response {
    let (kind, mark) = match protocol {
        ChatProtocol::Ui => (EVENT_STREAM, UI_STREAM_HEADER),
        ChatProtocol::V1 => ("text/plain; charset=utf-8", DATA_STREAM_HEADER),
    };
    let mut response = unbuffered_response(kind, chunks);
    response.headers_mut().insert(HeaderName::from_static(mark), HeaderValue::from_static("v1"));
    response
}

/// A stream that proxies must not buffer.
pub(super) fn unbuffered_response(
    kind: &'static str,
    chunks: impl Stream<Item = Bytes> + Send + 'static,
) -> Response {
    let mut response = Body::from_stream(chunks.map(Ok::<_, Infallible>)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_sends_heartbeats_and_continues() {
        for (protocol, alive, end) in [
            (ChatProtocol::Ui, ": keep-alive\n\n", "data: [DONE]\n\n"),
            (ChatProtocol::V1, "\n", "d:{\"finishReason\":\"stop\""),
        ] {
            let (events, turn) = ActiveTurn::new_scripted();
            let writer = ChatWriter::new(protocol, "m");
            let mut stream = TurnStream { turn, writer, protocol, is_over: false };
            for _ in 0..2 {
                let before = Instant::now();
                let (chunk, next) = stream.next().await.unwrap();
                assert_eq!((&chunk[..], before.elapsed()), (alive.as_bytes(), HEARTBEAT));
                stream = next;
            }
            // Ready events are sent as one chunk.
            for event in [TurnEvent::StepBegins, TurnEvent::Text("hi".to_owned())] {
                events.send(event).await.unwrap();
            }
            events.send(TurnEvent::StepEnds { usage: None, continues: false }).await.unwrap();
            events.send(TurnEvent::Ends(TurnEndReason::Stop)).await.unwrap();
            let (chunk, next) = stream.next().await.unwrap();
            let chunk = String::from_utf8(chunk.to_vec()).unwrap();
            assert!(chunk.contains("\"hi\"") && chunk.contains(end), "{chunk}");
            assert!(next.next().await.is_none());
        }
    }

    #[tokio::test]
    async fn a_vanished_turn_is_reported_as_an_error() {
        let (events, turn) = ActiveTurn::new_scripted();
        drop(events);
        let stream = TurnStream {
            turn,
            writer: ChatWriter::new(ChatProtocol::V1, "m"),
            protocol: ChatProtocol::V1,
            is_over: false,
        };
        let (chunk, next) = stream.next().await.unwrap();
        assert!(chunk.starts_with(b"3:\"The server failed"), "{chunk:?}");
        assert!(next.next().await.is_none());
    }

    #[tokio::test]
    async fn dropping_the_response_cancels_the_turn() {
        let (_events, turn) = ActiveTurn::new_scripted();
        let cancel = turn.cancel.clone();
        let response = turn_response(turn, ChatWriter::new(ChatProtocol::Ui, "m"), ChatProtocol::Ui, None);
        assert!(!cancel.is_cancelled());
        drop(response);
        assert!(cancel.is_cancelled());
    }
}
