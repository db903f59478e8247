//! `toolyard calls --follow`: prints calls as they finish, one line each.

use std::time::Duration;

use http::{Method, header};
use serde::Serialize;
use toolyard_net::SseEvent;
use toolyard_protocol::api::CallSummary;

use super::{CallsArgs, CommandContext, call_row};
use crate::{
    client::ApiClient, commands::CommandOutcome, error::CliError, output::RenderText,
    signals::SignalListener, text,
};

/// Timeout for opening the stream.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);
/// The server sends a comment every 15 seconds; without any data for this long the connection is lost.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest event, in bytes; a call is a few hundred.
const MAX_EVENT_BYTES: usize = 64 * 1024;

/// One call as a line.
#[derive(Serialize)]
#[serde(transparent)]
struct CallLine(CallSummary);

impl RenderText for CallLine {
    fn render_text(&self) -> String {
        let cells = call_row(&self.0);
        let filled = cells.iter().filter(|cell| !cell.is_empty());
        filled.map(|cell| text::sanitize_line(cell)).collect::<Vec<_>>().join("  ")
    }
}

pub(super) async fn follow_calls(cx: &CommandContext, args: &CallsArgs) -> Result<CommandOutcome, CliError> {
    let client = cx.client()?;
    let mut signals = SignalListener::new().map_err(CliError::Runtime)?;
    tokio::select! {
        ended = print_calls(cx, &client, args) => ended,
        () = signals.next() => Ok(CommandOutcome::Success),
    }
}

async fn print_calls(
    cx: &CommandContext,
    client: &ApiClient,
    args: &CallsArgs,
) -> Result<CommandOutcome, CliError> {
    let request =
        client.build_request(Method::GET, &format!("api/calls/stream?{}", args.query_string(cx, &[])))?;
    let request = request.header(header::ACCEPT, "text/event-stream");
    let response = client.send(client.finish_request(request, bytes::Bytes::new())?, OPEN_TIMEOUT).await?;
    if !response.status.is_success() {
        let (status, body) = (response.status, client.read_body(response).await?);
        return Err(client.server_refusal(status, &body));
    }
    cx.output.print_note("waiting for calls; press Ctrl-C to stop");
    let mut events = response.into_events(MAX_EVENT_BYTES).with_idle_timeout(IDLE_TIMEOUT);
    while let Some(SseEvent { name, data }) =
        events.next().await.map_err(|error| client.transport_error(error))?
    {
        match name.as_str() {
            "call" => {
                let call: CallSummary =
                    serde_json::from_slice(&data).map_err(|error| client.invalid_response(error))?;
                if args.matches(&call) {
                    cx.output.print_result(&CallLine(call))?;
                }
            }
            "missed" => {
                let count = String::from_utf8_lossy(&data).into_owned();
                cx.output.print_note(&format!(
                    "{} calls were missed; `toolyard calls` lists them",
                    text::sanitize_line(&count)
                ));
            }
            _ => {}
        }
    }
    Err(CliError::ConnectionLost("the server ended the stream".to_owned()))
}
