//! A turn as a stream for OpenAI's clients, whichever of their APIs it is for.

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
    /// The model that answers.
    fn model(&self) -> &str;

    /// What comes before the first word.
    fn preamble(&mut self) -> Vec<u8>;

    /// What an event of the turn adds; the last one ends the stream. What runs inside adds nothing.
    fn write_event(&mut self, event: TurnEvent) -> Vec<u8>;
}

/// Waits for the first word: an error before it has a status, as these clients expect. But not for ever, because proxies cut
/// off who is silent: after a while the stream begins, and an error comes in it.
pub(super) async fn stream_turn(mut begun: ActiveTurn, mut writer: impl TurnWriter) -> Response {
    let mut first = writer.preamble();
    let mut over = false;
    let silence = tokio::time::sleep(HEARTBEAT);
    tokio::pin!(silence);
    loop {
        let event = tokio::select! {
            event = begun.events.recv() => event.unwrap_or_else(vanished_turn_event),
            () = &mut silence => break,
        };
        if let TurnEvent::Ends(TurnEndReason::Failed(error)) = &event {
            return model_error_response(error);
        }
        over = over || matches!(event, TurnEvent::Ends(_));
        let said = writer.write_event(event);
        if !said.is_empty() {
            first.extend(said);
            break;
        }
    }
    let model = writer.model().to_owned();
    let rest = stream::unfold((begun, writer, over), |(mut begun, mut writer, over)| async move {
        if over {
            return None;
        }
        tokio::select! {
            event = begun.events.recv() => {
                let event = event.unwrap_or_else(vanished_turn_event);
                let over = matches!(event, TurnEvent::Ends(_));
                Some((Bytes::from(writer.write_event(event)), (begun, writer, over)))
            }
            () = tokio::time::sleep(HEARTBEAT) => {
                Some((Bytes::from_static(ui::HEARTBEAT.as_bytes()), (begun, writer, over)))
            }
        }
    });
    let pieces =
        stream::iter([Bytes::from(first)]).chain(rest.filter(|piece| std::future::ready(!piece.is_empty())));
    with_model_header(respond::unbuffered_response(EVENT_STREAM, pieces), &model)
}
