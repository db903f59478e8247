//! A turn as an answer over HTTP: a stream in one of two forms, with heartbeats while nothing is said.

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

/// Bytes after which a piece goes out, whatever else waits.
const MAX_PIECE: usize = 64 * 1024;
/// The type of server-sent events.
pub(super) const EVENT_STREAM: &str = "text/event-stream";
/// How often a silent stream says that it is alive.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(15);

/// Writes a turn in one of the two forms.
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

    /// What comes before the first event. `message_id` is that of the message that goes on, or a new one.
    pub(super) fn preamble(&self, message_id: Option<&str>) -> Bytes {
        match self {
            Self::Ui(_) => UiWriter::start_chunk(message_id).into(),
            Self::V1(_) => Bytes::new(),
        }
    }

    /// What an event becomes; the last one ends the stream.
    pub(super) fn write_event(&mut self, event: TurnEvent) -> Bytes {
        let last = matches!(event, TurnEvent::Ends(_));
        match self {
            Self::Ui(writer) => {
                let mut said = writer.write_event(event);
                if last {
                    said.push_str(UiWriter::done_marker());
                }
                said.into()
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

/// A turn that is being told.
struct TurnStream {
    turn: ActiveTurn,
    writer: ChatWriter,
    protocol: ChatProtocol,
    is_over: bool,
}

impl TurnStream {
    /// The next piece: everything that is there to be told, or a heartbeat.
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
        let piece = self.write_ready_events(first);
        Some((piece, self))
    }

    /// What came at once goes out at once: a write costs more than its words.
    fn write_ready_events(&mut self, first: TurnEvent) -> Bytes {
        self.is_over = matches!(first, TurnEvent::Ends(_));
        let piece = self.writer.write_event(first);
        let Ok(second) = self.turn.events.try_recv() else { return piece };
        let mut all = piece.to_vec();
        let mut next = Some(second);
        while let Some(event) = next {
            self.is_over = matches!(event, TurnEvent::Ends(_));
            all.extend_from_slice(&self.writer.write_event(event));
            next = self.turn.events.try_recv().ok().filter(|_| all.len() < MAX_PIECE);
        }
        all.into()
    }
}

/// A turn that ended without a last word: its task failed.
pub(super) fn vanished_turn_event() -> TurnEvent {
    let text = "The server failed in the middle of the answer; its log says more.".to_owned();
    let error = ModelError { kind: ModelErrorKind::Broken, text, cause: None, retry_after: None };
    TurnEvent::Ends(TurnEndReason::Failed(error))
}

/// The answer to a request: the turn ends when its reader leaves.
pub(super) fn turn_response(
    begun: ActiveTurn,
    writer: ChatWriter,
    protocol: ChatProtocol,
    message_id: Option<&str>,
) -> Response {
    let hello = writer.preamble(message_id);
    let told = TurnStream { turn: begun, writer, protocol, is_over: false };
    protocol_response(protocol, stream::iter([hello]).chain(stream::unfold(told, TurnStream::next)))
}

/// A stream of pieces with the headers that its readers expect.
pub(super) fn protocol_response(
    protocol: ChatProtocol,
    pieces: impl Stream<Item = Bytes> + Send + 'static,
) -> Response {
    let (kind, mark) = match protocol {
        ChatProtocol::Ui => (EVENT_STREAM, UI_STREAM_HEADER),
        ChatProtocol::V1 => ("text/plain; charset=utf-8", DATA_STREAM_HEADER),
    };
    let mut response = unbuffered_response(kind, pieces);
    response.headers_mut().insert(HeaderName::from_static(mark), HeaderValue::from_static("v1"));
    response
}

/// A stream of pieces that nobody on the way shall hold back.
pub(super) fn unbuffered_response(
    kind: &'static str,
    pieces: impl Stream<Item = Bytes> + Send + 'static,
) -> Response {
    let mut response = Body::from_stream(pieces.map(Ok::<_, Infallible>)).into_response();
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
    async fn a_silent_stream_says_that_it_is_alive_and_goes_on() {
        for (protocol, alive, end) in [
            (ChatProtocol::Ui, ": keep-alive\n\n", "data: [DONE]\n\n"),
            (ChatProtocol::V1, "\n", "d:{\"finishReason\":\"stop\""),
        ] {
            let (turn, begun) = ActiveTurn::new_scripted();
            let writer = ChatWriter::new(protocol, "m");
            let mut told = TurnStream { turn: begun, writer, protocol, is_over: false };
            for _ in 0..2 {
                let before = Instant::now();
                let (piece, next) = told.next().await.unwrap();
                assert_eq!((&piece[..], before.elapsed()), (alive.as_bytes(), HEARTBEAT));
                told = next;
            }
            // What is there at once goes out at once.
            for event in [TurnEvent::StepBegins, TurnEvent::Text("hi".to_owned())] {
                turn.send(event).await.unwrap();
            }
            turn.send(TurnEvent::StepEnds { usage: None, continues: false }).await.unwrap();
            turn.send(TurnEvent::Ends(TurnEndReason::Stop)).await.unwrap();
            let (piece, next) = told.next().await.unwrap();
            let piece = String::from_utf8(piece.to_vec()).unwrap();
            assert!(piece.contains("\"hi\"") && piece.contains(end), "{piece}");
            assert!(next.next().await.is_none());
        }
    }

    #[tokio::test]
    async fn a_turn_that_vanishes_is_told() {
        let (turn, begun) = ActiveTurn::new_scripted();
        drop(turn);
        let told = TurnStream {
            turn: begun,
            writer: ChatWriter::new(ChatProtocol::V1, "m"),
            protocol: ChatProtocol::V1,
            is_over: false,
        };
        let (piece, next) = told.next().await.unwrap();
        assert!(piece.starts_with(b"3:\"The server failed"), "{piece:?}");
        assert!(next.next().await.is_none());
    }

    #[tokio::test]
    async fn whoever_drops_the_answer_ends_the_turn() {
        let (_turn, begun) = ActiveTurn::new_scripted();
        let cancel = begun.cancel.clone();
        let response = turn_response(begun, ChatWriter::new(ChatProtocol::Ui, "m"), ChatProtocol::Ui, None);
        assert!(!cancel.is_cancelled());
        drop(response);
        assert!(cancel.is_cancelled());
    }
}
