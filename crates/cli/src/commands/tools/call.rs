//! `toolyard tools call`

use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http::{Method, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use toolyard_net::HttpResponse;
use toolyard_protocol::{
    approval::PendingCall,
    call::{CallProgress, IDEMPOTENCY_KEY, MAX_KEY_CHARS},
};

use super::{arguments, sign_in::follow_sign_in};
use crate::{
    cli::CommandContext,
    client::{self, ApiClient, MAX_RESPONSE_BYTES, ServerRefusal},
    commands::{
        CommandOutcome,
        approvals::{PendingFollowUp, follow_pending},
    },
    error::CliError,
    output::{CliOutput, RenderText},
    text,
};

/// Timeout of a call; longer than the longest that a server allows by default.
const WAIT: Duration = Duration::from_secs(330);
/// Content type of a response with progress events.
const EVENTS: &str = "text/event-stream";

const HELP: &str = "\
NAME is package:tool, or the tool's alias as models see it. Values that parse as JSON are JSON, others are text.

If the call needs your approval, it asks in the terminal. If it needs you to sign in at the server behind the tool, it prints the
page for that and waits. Without a terminal it prints the page and exits with code 3; make the same call again to get the
result, or use --wait.

Examples:
  toolyard tools call com.example.todo:add_todo todo_item=milk --user ada@example.com
  toolyard tools call com.example.todo:add_todo '{\"todo_item\":\"milk\"}' --key 2026-11-15-a
  toolyard tools call com.example.maps:route from=Berlin to=Rome --progress";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CallArgs {
    /// The tool, as package:tool or alias
    name: String,
    /// One JSON object, or key=value pairs
    #[arg(value_name = "ARGUMENT")]
    arguments: Vec<String>,
    /// An idempotency key: repeated calls with the same key and arguments run the tool only once
    #[arg(long, value_parser = parse_idempotency_key)]
    key: Option<String>,
    /// Print the tool's progress to stderr
    #[arg(long)]
    progress: bool,
    /// If the call needs an approval or a sign-in, wait for it
    #[arg(long)]
    wait: bool,
}

fn parse_idempotency_key(text: &str) -> Result<String, String> {
    let fits =
        (1..=MAX_KEY_CHARS).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    if fits {
        Ok(text.to_owned())
    } else {
        Err(format!("expected 1 to {MAX_KEY_CHARS} visible ASCII characters"))
    }
}

#[derive(Serialize)]
struct CallBody<'a> {
    name: &'a str,
    arguments: Map<String, Value>,
}

/// A result as the server sent it.
#[derive(Serialize)]
#[serde(transparent)]
struct ToolCallOutput(Box<RawValue>);

/// The fields of a result that are shown to people.
#[derive(Deserialize)]
struct CallResultFields {
    success: bool,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    pending: Option<PendingCall>,
}

impl RenderText for ToolCallOutput {
    fn render_text(&self) -> String {
        match serde_json::from_str(self.0.get()).map(|members: CallResultFields| members.content) {
            Ok(Value::String(content)) => text::sanitize_block(&content),
            Ok(Value::Null) | Err(_) => "The tool ran and returned nothing.".to_owned(),
            Ok(content) => text::sanitize_block(&format!("{content:#}")),
        }
    }
}

pub(super) async fn call_tool(cx: &CommandContext, args: CallArgs) -> Result<CommandOutcome, CliError> {
    let client = cx.client()?;
    let body = client::json_body(&CallBody {
        name: &args.name,
        arguments: arguments::parse_arguments(&args.arguments)?,
    });
    loop {
        let (status, answer) = send_call(cx, &client, &args, body.clone()).await?;
        let fields = serde_json::from_slice::<CallResultFields>(&answer).ok();
        match fields.and_then(|fields| fields.pending) {
            Some(PendingCall::Approval(pending)) => {
                return match follow_pending(cx, &client, &pending, args.wait).await? {
                    PendingFollowUp::Ended(status, body) => {
                        print_call_result(&client, cx.output, status, &body)
                    }
                    PendingFollowUp::Waiting => print_waiting_call(&client, cx.output, &answer),
                };
            }
            Some(PendingCall::SignIn(pending)) => {
                if !follow_sign_in(cx, &client, &pending, args.wait).await? {
                    return print_waiting_call(&client, cx.output, &answer);
                }
            }
            None => return print_call_result(&client, cx.output, status, &answer),
        }
    }
}

/// Sends a call, and returns the status and the body of the response.
async fn send_call(
    cx: &CommandContext,
    client: &ApiClient,
    args: &CallArgs,
    body: Bytes,
) -> Result<(StatusCode, Bytes), CliError> {
    let mut request = client
        .build_request(Method::POST, "api/tools/execute")?
        .header(header::CONTENT_TYPE, "application/json");
    if let Some(key) = &args.key {
        request = request.header(IDEMPOTENCY_KEY, key);
    }
    if args.progress {
        request = request.header(header::ACCEPT, EVENTS);
    }
    let called = tokio::time::timeout(WAIT, async {
        let answer = client.send(client.finish_request(request, body)?, WAIT).await?;
        let status = answer.status;
        let body = if is_event_stream(&answer) {
            follow_progress(client, answer, cx.output).await?
        } else {
            client.read_body(answer).await?
        };
        Ok::<_, CliError>((status, body))
    });
    let server = cx.server_url()?;
    let timed_out = |_| CliError::TimedOut { server: server.to_owned(), wait: WAIT };
    called.await.map_err(timed_out)?
}

fn is_event_stream(answer: &HttpResponse) -> bool {
    let kind = answer.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with(EVENTS))
}

/// A call that waits has no result; with --json, what it waits for is printed.
fn print_waiting_call(
    client: &ApiClient,
    output: CliOutput,
    body: &[u8],
) -> Result<CommandOutcome, CliError> {
    if output.is_json() {
        let raw = serde_json::from_slice(body).map_err(|error| client.invalid_response(error))?;
        output.print_result(&ToolCallOutput(raw))?;
    }
    Ok(CommandOutcome::AwaitingUser)
}

/// Prints a failed call as an error, or with --json as the server sent it.
fn print_call_result(
    client: &ApiClient,
    output: CliOutput,
    status: StatusCode,
    body: &[u8],
) -> Result<CommandOutcome, CliError> {
    let result = serde_json::from_slice::<CallResultFields>(body);
    match result {
        Ok(members) => {
            let raw = serde_json::from_slice(body).map_err(|error| client.invalid_response(error))?;
            if members.success {
                output.print_result(&ToolCallOutput(raw))?;
                return Ok(CommandOutcome::Success);
            }
            if output.is_json() {
                output.print_result(&ToolCallOutput(raw))?;
                return Ok(CommandOutcome::Failure);
            }
            Err(ServerRefusal::from_response(status, body).into())
        }
        Err(error) if status.is_success() => Err(client.invalid_response(error)),
        Err(_) => Err(client.server_refusal(status, body)),
    }
}

/// Prints progress events until the result arrives.
async fn follow_progress(
    client: &ApiClient,
    answer: HttpResponse,
    output: CliOutput,
) -> Result<bytes::Bytes, CliError> {
    let mut events = answer.into_events(MAX_RESPONSE_BYTES).with_total_limit(MAX_RESPONSE_BYTES);
    while let Some(event) = events.next().await.map_err(|error| client.transport_error(error))? {
        match event.name.as_str() {
            "result" => return Ok(event.data),
            "progress" => output.print_note(&format_progress(&event.data)),
            _ => {}
        }
    }
    Err(client.invalid_response("the stream ended before the result"))
}

/// `40 % half way`
fn format_progress(data: &[u8]) -> String {
    let Ok(CallProgress { progress, total, message }) = serde_json::from_slice(data) else {
        return "… in progress".to_owned();
    };
    let share = progress / total.filter(|total| *total > 0.0).unwrap_or(1.0);
    let message = message.map(|message| format!(" {}", text::sanitize_line(&message))).unwrap_or_default();
    format!("… {:.0} %{message}", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_share_of_the_total() {
        assert_eq!(format_progress(br#"{"progress":0.4,"message":"half way"}"#), "… 40 % half way");
        assert_eq!(format_progress(br#"{"progress":3,"total":4}"#), "… 75 %");
        assert_eq!(format_progress(b"x"), "… in progress");
    }

    #[test]
    fn text_results_are_printed_as_text() {
        let text = |body: &str| ToolCallOutput(serde_json::from_str(body).unwrap()).render_text();
        assert_eq!(text(r#"{"success":true,"content":"a\nb\u001b"}"#), "a\nb ");
        assert_eq!(text(r#"{"success":true,"content":{"n":1}}"#), "{\n  \"n\": 1\n}");
        assert!(text(r#"{"success":true}"#).contains("nothing"));
    }

    #[test]
    fn an_idempotency_key_must_fit_a_header() {
        assert!(parse_idempotency_key("2026-11-15 a").is_ok());
        for bad in ["", "ä", &"x".repeat(MAX_KEY_CHARS + 1)] {
            assert!(parse_idempotency_key(bad).is_err(), "{bad}");
        }
    }
}
