//! `toolyard calls --follow`: calls as they end, one line each.

use std::time::Duration;

use http::{Method, header};
use serde::Serialize;
use toolyard_net::Event;
use toolyard_protocol::api::CallSummary;

use super::{CallsArgs, Context, row};
use crate::{client::Client, commands::Verdict, error::CliError, output::Show, signals::Signals, text};

/// How long the server may take to open the stream.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);
/// The server sends a comment every 15 seconds; a stream that is silent for this long is broken.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest event; a call is a few hundred bytes.
const MAX_EVENT_BYTES: usize = 64 * 1024;

/// One call as a line.
#[derive(Serialize)]
#[serde(transparent)]
struct CallLine(CallSummary);

impl Show for CallLine {
    fn text(&self) -> String {
        let cells = row(&self.0);
        let filled = cells.iter().filter(|cell| !cell.is_empty());
        filled.map(|cell| text::line(cell)).collect::<Vec<_>>().join("  ")
    }
}

pub(super) async fn run(cx: &Context, args: &CallsArgs) -> Result<Verdict, CliError> {
    let client = cx.client()?;
    let mut signals = Signals::new().map_err(CliError::Runtime)?;
    tokio::select! {
        ended = print_calls(cx, &client, args) => ended,
        () = signals.next() => Ok(Verdict::Good),
    }
}

async fn print_calls(cx: &Context, client: &Client, args: &CallsArgs) -> Result<Verdict, CliError> {
    let request = client.request(Method::GET, &format!("api/calls/stream?{}", args.query(cx, &[])))?;
    let request = request.header(header::ACCEPT, "text/event-stream");
    let response = client.send(client.finish(request, bytes::Bytes::new())?, OPEN_TIMEOUT).await?;
    if !response.status.is_success() {
        let (status, body) = (response.status, client.bytes(response).await?);
        return Err(client.refused(status, &body));
    }
    cx.output.note("waiting for calls; Ctrl-C ends");
    let mut events = response.events(MAX_EVENT_BYTES).idle(IDLE_TIMEOUT);
    while let Some(Event { name, data }) = events.next().await.map_err(|error| client.broken(error))? {
        match name.as_str() {
            "call" => {
                let call: CallSummary =
                    serde_json::from_slice(&data).map_err(|error| client.bad_answer(error))?;
                if args.matches(&call) {
                    cx.output.show(&CallLine(call))?;
                }
            }
            "missed" => {
                let count = String::from_utf8_lossy(&data).into_owned();
                cx.output
                    .note(&format!("{} calls were missed; `toolyard calls` lists them", text::line(&count)));
            }
            _ => {}
        }
    }
    Err(CliError::ConnectionLost("the server ended the stream".to_owned()))
}
