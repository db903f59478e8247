//! Streams a turn in either of OpenAI's APIs.

use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use toolyard_agent::event::{TurnEndReason, TurnEvent};
use toolyard_protocol::chat::ui;

use super::error::model_error_response;
use crate::doors::chat::{
    begin::ActiveTurn,
    respond::{self, EVENT_STREAM, HEARTBEAT, vanished_turn_event},
    with_model_header,
};

/// Writes the events of a turn.
pub(super) trait TurnWriter: Send + 'static {
    /// Name of the model.
    fn model(&self) -> &str;

    /// Bytes to send before the first event.
    fn preamble(&mut self) -> Vec<u8>;

    /// Bytes for an event of the turn. The last event ends the stream. Calls that run on the server produce none.
    fn write_event(&mut self, event: TurnEvent) -> Vec<u8>;
}

/// Waits for the first output, so that an earlier error gets an HTTP status, as these clients expect. After a heartbeat
/// interval it starts the stream anyway, because proxies close silent connections. Later errors come in the stream.
pub(super) async fn stream_turn(mut turn: ActiveTurn, mut writer: impl TurnWriter) -> Response {
    let mut first = writer.preamble();
    let mut over = false;
    let silence = tokio::time::sleep(HEARTBEAT);
    tokio::pin!(silence);
    loop {
        let event = tokio::select! {
            event = turn.events.recv() => event.unwrap_or_else(vanished_turn_event),
            () = &mut silence => break,
        };
        if let TurnEvent::Ends(TurnEndReason::Failed(error)) = &event {
            return model_error_response(error);
        }
        over = over || matches!(event, TurnEvent::Ends(_));
        let output = writer.write_event(event);
        if !output.is_empty() {
            first.extend(output);
            break;
        }
    }
    let model = writer.model().to_owned();
    let rest = stream::unfold((turn, writer, over), |(mut turn, mut writer, over)| async move {
        if over {
            return None;
        }
        tokio::select! {
            event = turn.events.recv() => {
                let event = event.unwrap_or_else(vanished_turn_event);
                let over = matches!(event, TurnEvent::Ends(_));
                Some((Bytes::from(writer.write_event(event)), (turn, writer, over)))
            }
            () = tokio::time::sleep(HEARTBEAT) => {
                Some((Bytes::from_static(ui::HEARTBEAT.as_bytes()), (turn, writer, over)))
            }
        }
    });
    let chunks =
        stream::iter([Bytes::from(first)]).chain(rest.filter(|chunk| std::future::ready(!chunk.is_empty())));
    with_model_header(respond::unbuffered_response(EVENT_STREAM, chunks), &model)
}
