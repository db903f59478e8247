//! `toolyard approvals watch`: prints questions as they arrive, and asks for answers in a terminal.

use std::{
    collections::VecDeque,
    io::{IsTerminal as _, stdin},
    time::Duration,
};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{Method, header};
use serde::Serialize;
use tokio::io::{BufReader, Stdin};
use toolyard_net::{SseEvent, SseStream};
use toolyard_protocol::approval::{ApprovalInfo, ApprovalState};

use super::{answer::answer_shown, formatting};
use crate::{
    cli::CommandContext,
    client::ApiClient,
    commands::CommandOutcome,
    error::CliError,
    input,
    lines::{BoundedLine, BoundedLines},
    output::RenderText,
    signals::SignalListener,
};

/// Timeout for opening the stream.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);
/// The server sends a comment every 15 seconds; without any data for this long the connection is lost.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest event, in bytes: a question shows 40 arguments of 400 characters at most.
const MAX_EVENT_BYTES: usize = 1024 * 1024;
/// Longest line that is read, in bytes.
const MAX_LINE_BYTES: usize = 256;

/// One approval of the stream.
#[derive(Serialize)]
#[serde(transparent)]
struct ApprovalLine<'a>(&'a ApprovalInfo);

impl RenderText for ApprovalLine<'_> {
    fn render_text(&self) -> String {
        if self.0.state == ApprovalState::Pending {
            format!("{}\n  {}", formatting::format_question(self.0), self.0.url)
        } else {
            format!("{}: {}", self.0.summary.title, formatting::format_state(self.0))
        }
    }
}

pub(super) async fn watch_approvals(cx: &CommandContext) -> Result<CommandOutcome, CliError> {
    let client = cx.client()?;
    let mut signals = SignalListener::new().map_err(CliError::Runtime)?;
    tokio::select! {
        ended = follow_approvals(cx, &client) => ended,
        () = signals.next() => Ok(CommandOutcome::Success),
    }
}

async fn follow_approvals(cx: &CommandContext, client: &ApiClient) -> Result<CommandOutcome, CliError> {
    let request = client.build_request(Method::GET, "api/approvals/events")?;
    let request = request.header(header::ACCEPT, "text/event-stream");
    let response = client.send(client.finish_request(request, Bytes::new())?, OPEN_TIMEOUT).await?;
    if !response.status.is_success() {
        let (status, body) = (response.status, client.read_body(response).await?);
        return Err(client.server_refusal(status, &body));
    }
    cx.output.print_note("waiting for questions; press Ctrl-C to stop");
    let mut events = response.into_events(MAX_EVENT_BYTES).with_idle_timeout(IDLE_TIMEOUT);
    if cx.output.is_json() || !stdin().is_terminal() {
        loop {
            cx.output.print_result(&ApprovalLine(&next_approval(client, &mut events).await?))?;
        }
    }
    let lines = BoundedLines::new(BufReader::new(tokio::io::stdin()), MAX_LINE_BYTES);
    let mut desk = ApprovalDesk { cx, client, lines, open: VecDeque::new(), shown: ShownPrompt::Nothing };
    loop {
        tokio::select! {
            next = next_approval(client, &mut events) => desk.take_event(next?)?,
            line = desk.lines.next() => match line? {
                Some(BoundedLine::Text(line)) => desk.take_line(&line).await?,
                Some(BoundedLine::TooLong) => desk.take_line("").await?,
                None => return Ok(CommandOutcome::Success),
            },
        }
    }
}

/// The next approval that is new or has changed.
async fn next_approval(client: &ApiClient, events: &mut SseStream) -> Result<ApprovalInfo, CliError> {
    while let Some(SseEvent { name, data }) =
        events.next().await.map_err(|error| client.transport_error(error))?
    {
        if name == "approval" {
            return serde_json::from_slice(&data).map_err(|error| client.invalid_response(error));
        }
    }
    Err(CliError::ConnectionLost("the server ended the stream".to_owned()))
}

/// What the next typed line refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShownPrompt {
    /// Nothing: it is ignored.
    Nothing,
    /// The first open question.
    Question,
    /// A question that was answered elsewhere while the user may have been typing. The next line is not an answer.
    Withdrawn,
}

/// Asks one question after the other.
struct ApprovalDesk<'a> {
    cx: &'a CommandContext,
    client: &'a ApiClient,
    lines: BoundedLines<BufReader<Stdin>>,
    open: VecDeque<ApprovalInfo>,
    shown: ShownPrompt,
}

impl ApprovalDesk<'_> {
    fn take_event(&mut self, info: ApprovalInfo) -> Result<(), CliError> {
        if info.state == ApprovalState::Pending {
            if self.open.iter().all(|open| open.id != info.id) {
                self.open.push_back(info);
            }
        } else if let Some(position) = self.open.iter().position(|open| open.id == info.id) {
            self.open.remove(position);
            let is_shown = position == 0 && self.shown == ShownPrompt::Question;
            if is_shown {
                // Ends the line of the prompt.
                self.cx.output.print_note("");
            }
            self.cx.output.print_result(&ApprovalLine(&info))?;
            if is_shown {
                self.shown = ShownPrompt::Withdrawn;
                input::print_prompt("Press Enter to continue. ")?;
            }
        }
        self.show_next()
    }

    /// Shows the first open question, unless something is shown.
    fn show_next(&mut self) -> Result<(), CliError> {
        if self.shown != ShownPrompt::Nothing {
            return Ok(());
        }
        let Some(first) = self.open.front() else { return Ok(()) };
        // Typed before the question was shown, so it is no answer to it.
        while let Some(Ok(Some(_))) = self.lines.next().now_or_never() {}
        self.cx.output.print_result(&ApprovalLine(first))?;
        let more = self.open.len() - 1;
        let waiting = if more > 0 { format!(" ({more} more)") } else { String::new() };
        input::print_prompt(&format!("Run it? [y/n, Enter to skip]{waiting} "))?;
        self.shown = ShownPrompt::Question;
        Ok(())
    }

    async fn take_line(&mut self, line: &str) -> Result<(), CliError> {
        let was_shown = std::mem::replace(&mut self.shown, ShownPrompt::Nothing);
        if was_shown == ShownPrompt::Question
            && let Some(question) = self.open.pop_front()
        {
            self.answer(&question, line).await?;
        }
        self.show_next()
    }

    async fn answer(&self, question: &ApprovalInfo, line: &str) -> Result<(), CliError> {
        let Some(is_yes) = input::parse_yes_or_no(line) else {
            self.cx.output.print_note("skipped; it stays open");
            return Ok(());
        };
        match answer_shown(self.client, question, is_yes).await {
            Ok(info) => self.cx.output.print_result(&ApprovalLine(&info)),
            // Answered elsewhere, expired, or not for this caller to answer: the next question can still be answered.
            Err(CliError::Refused(refused)) => {
                self.cx.output.print_note(&refused.to_string());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}
