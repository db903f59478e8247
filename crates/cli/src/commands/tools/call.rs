//! `toolyard tools call`

use std::time::Duration;

use clap::Args;
use http::{Method, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use toolyard_net::Response;
use toolyard_protocol::call::{IDEMPOTENCY_KEY, MAX_KEY_CHARS, Progress};

use super::arguments;
use crate::{
    cli::Context,
    client::{self, Client, MAX_ANSWER_BYTES, Refused},
    commands::Verdict,
    error::CliError,
    output::{Output, Show},
    text,
};

/// How long a call may take; more than the longest that a server allows by default.
const WAIT: Duration = Duration::from_secs(330);
/// Content type of an answer with progress in it.
const EVENTS: &str = "text/event-stream";

const HELP: &str = "\
NAME is package:tool, or the alias under which models know the tool. A value that reads as JSON is JSON, the rest is text.

Examples:
  toolyard tools call com.example.todo:add_todo todo_item=milk --user ada@example.com
  toolyard tools call com.example.todo:add_todo '{\"todo_item\":\"milk\"}' --key 2026-11-15-a
  toolyard tools call com.example.maps:route from=Berlin to=Rome --progress";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CallArgs {
    /// The tool
    name: String,
    /// One JSON object, or key=value pairs
    #[arg(value_name = "ARGUMENT")]
    arguments: Vec<String>,
    /// An idempotency key: the same key and arguments run the tool once, however often they are sent
    #[arg(long, value_parser = key)]
    key: Option<String>,
    /// Tell on stderr how far the tool is
    #[arg(long)]
    progress: bool,
}

fn key(text: &str) -> Result<String, String> {
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
struct Answered(Box<RawValue>);

/// The members of a result that people look at.
#[derive(Deserialize)]
struct Members {
    success: bool,
    #[serde(default)]
    content: Value,
}

impl Show for Answered {
    fn text(&self) -> String {
        match serde_json::from_str(self.0.get()).map(|members: Members| members.content) {
            Ok(Value::String(said)) => text::block(&said),
            Ok(Value::Null) | Err(_) => "The tool ran and had nothing to say.".to_owned(),
            Ok(content) => text::block(&format!("{content:#}")),
        }
    }
}

pub(super) async fn run(cx: &Context, args: CallArgs) -> Result<Verdict, CliError> {
    let client = cx.client()?;
    let body = client::json(&CallBody { name: &args.name, arguments: arguments::read(&args.arguments)? });
    let mut request =
        client.request(Method::POST, "api/tools/execute")?.header(header::CONTENT_TYPE, "application/json");
    if let Some(key) = &args.key {
        request = request.header(IDEMPOTENCY_KEY, key);
    }
    if args.progress {
        request = request.header(header::ACCEPT, EVENTS);
    }
    let called = tokio::time::timeout(WAIT, async {
        let answer = client.send(client.finish(request, body)?, WAIT).await?;
        let status = answer.status;
        let body = if is_events(&answer) {
            follow(&client, answer, cx.output).await?
        } else {
            client.bytes(answer).await?
        };
        Ok::<_, CliError>((status, body))
    });
    let timed_out = |_| CliError::TooSlow { server: cx.server().to_owned(), wait: WAIT };
    let (status, body) = called.await.map_err(timed_out)??;
    tell(&client, cx.output, status, &body)
}

fn is_events(answer: &Response) -> bool {
    let kind = answer.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with(EVENTS))
}

/// A call that failed is told as an error, and for programs as the server told it.
fn tell(client: &Client, output: Output, status: StatusCode, body: &[u8]) -> Result<Verdict, CliError> {
    let result = serde_json::from_slice::<Members>(body);
    match result {
        Ok(members) => {
            let raw = serde_json::from_slice(body).map_err(|error| client.bad_answer(error))?;
            if members.success {
                output.show(&Answered(raw))?;
                return Ok(Verdict::Good);
            }
            if output.is_json() {
                output.show(&Answered(raw))?;
                return Ok(Verdict::Bad);
            }
            Err(Refused::read(status, body).into())
        }
        Err(error) if status.is_success() => Err(client.bad_answer(error)),
        Err(_) => Err(client.refused(status, body)),
    }
}

/// Tells the progress and gives back the result. Our events are one line of data each.
async fn follow(client: &Client, answer: Response, output: Output) -> Result<bytes::Bytes, CliError> {
    let mut lines = answer.lines(MAX_ANSWER_BYTES, MAX_ANSWER_BYTES);
    let mut event = Vec::new();
    while let Some(line) = lines.next().await.map_err(|error| client.broken(error))? {
        if let Some(name) = field(&line, b"event:") {
            event = name.to_vec();
        } else if let Some(data) = field(&line, b"data:") {
            match event.as_slice() {
                b"result" => return Ok(line.slice_ref(data)),
                b"progress" => output.note(&progress(data)),
                _ => {}
            }
        }
    }
    Err(client.bad_answer("it ended before the result was there"))
}

fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    line.strip_prefix(name).map(<[u8]>::trim_ascii)
}

/// `40 % half way`
fn progress(data: &[u8]) -> String {
    let Ok(Progress { progress, total, message }) = serde_json::from_slice(data) else {
        return "… still at work".to_owned();
    };
    let share = progress / total.filter(|total| *total > 0.0).unwrap_or(1.0);
    let message = message.map(|message| format!(" {}", text::line(&message))).unwrap_or_default();
    format!("… {:.0} %{message}", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_share_of_the_total() {
        assert_eq!(progress(br#"{"progress":0.4,"message":"half way"}"#), "… 40 % half way");
        assert_eq!(progress(br#"{"progress":3,"total":4}"#), "… 75 %");
        assert_eq!(progress(b"x"), "… still at work");
    }

    #[test]
    fn results_are_told_as_text_where_they_are_text() {
        let text = |body: &str| Answered(serde_json::from_str(body).unwrap()).text();
        assert_eq!(text(r#"{"success":true,"content":"a\nb\u001b"}"#), "a\nb ");
        assert_eq!(text(r#"{"success":true,"content":{"n":1}}"#), "{\n  \"n\": 1\n}");
        assert!(text(r#"{"success":true}"#).contains("nothing"));
    }

    #[test]
    fn a_key_fits_a_header() {
        assert!(key("2026-11-15 a").is_ok());
        for bad in ["", "ä", &"x".repeat(MAX_KEY_CHARS + 1)] {
            assert!(key(bad).is_err(), "{bad}");
        }
    }
}
