//! A call that waits for an approval: shows what is asked, asks in a terminal, and waits for the outcome.

use std::{
    io::{IsTerminal as _, stdin},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, StatusCode};
use serde::Deserialize;
use tokio::io::BufReader;
use toolyard_protocol::{
    ApprovalId,
    approval::{ApprovalInfo, ApprovalState, PendingApproval},
};

use super::{answer::answer_shown, formatting};
use crate::{
    cli::CommandContext,
    client::ApiClient,
    error::CliError,
    input,
    lines::{BoundedLine, BoundedLines},
};

/// How long the server holds one request for the outcome, in seconds.
const POLL_S: u64 = 50;
/// Timeout of such a request.
const POLL_TIMEOUT: Duration = Duration::from_secs(POLL_S + 30);
/// Longest line that is read, in bytes.
const MAX_LINE_BYTES: usize = 256;

/// What became of a call that waits.
pub(crate) enum PendingFollowUp {
    /// Its outcome, as the server sent it.
    Ended(StatusCode, Bytes),
    /// It still waits.
    Waiting,
}

/// The part of a response that says whether the call still waits.
#[derive(Deserialize)]
struct WaitingFields {
    #[serde(default)]
    pending: Option<serde::de::IgnoredAny>,
}

/// Shows what is asked. In a terminal, the user can answer at once; then, or if `wait` is set, it waits for the outcome.
pub(crate) async fn follow_pending(
    cx: &CommandContext,
    client: &ApiClient,
    pending: &PendingApproval,
    wait: bool,
) -> Result<PendingFollowUp, CliError> {
    let can_ask = !cx.output.is_json() && stdin().is_terminal();
    // An app or someone who acts for the user may call, but not see the question.
    let shown = if can_ask { find_open_question(client, &pending.id).await? } else { None };
    let is_answered = match shown {
        Some(info) => ask_here(cx, client, &info).await?,
        None => {
            let question = pending.summary.as_ref().map(formatting::format_summary);
            let question = question.map(|text| format!("{text}\n")).unwrap_or_default();
            let until = &pending.expires_at;
            cx.output.print_note(&format!(
                "{question}waits for the user's approval until {until}: {}",
                pending.url
            ));
            false
        }
    };
    if !is_answered && !wait {
        return Ok(PendingFollowUp::Waiting);
    }
    wait_for_outcome(client, &pending.id).await
}

async fn find_open_question(client: &ApiClient, id: &ApprovalId) -> Result<Option<ApprovalInfo>, CliError> {
    let found: Option<ApprovalInfo> = client.get_optional(&format!("api/approvals/{id}")).await?;
    Ok(found.filter(|info| info.state == ApprovalState::Pending))
}

/// Asks in the terminal. True if the question is answered, here or elsewhere.
async fn ask_here(cx: &CommandContext, client: &ApiClient, info: &ApprovalInfo) -> Result<bool, CliError> {
    cx.output.print_note(&formatting::format_question(info));
    input::print_prompt("Run it? [y/n] ")?;
    let mut lines = BoundedLines::new(BufReader::new(tokio::io::stdin()), MAX_LINE_BYTES);
    let is_yes = match lines.next().await? {
        Some(BoundedLine::Text(line)) => input::parse_yes_or_no(&line),
        Some(BoundedLine::TooLong) | None => None,
    };
    let Some(is_yes) = is_yes else {
        cx.output.print_note(&format!("not answered; it can be answered at {}", info.url));
        return Ok(false);
    };
    match answer_shown(client, info, is_yes).await {
        Ok(_) => Ok(true),
        Err(CliError::Refused(refused)) if refused.is_conflict() => {
            cx.output.print_note(&refused.to_string());
            Ok(true)
        }
        Err(CliError::Refused(refused)) if refused.status == 403 => {
            cx.output.print_note(&format!("{refused}: {}", info.url));
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

async fn wait_for_outcome(client: &ApiClient, id: &ApprovalId) -> Result<PendingFollowUp, CliError> {
    loop {
        let request =
            client.build_request(Method::GET, &format!("api/approvals/{id}/outcome?wait={POLL_S}"))?;
        let response = client.send(client.finish_request(request, Bytes::new())?, POLL_TIMEOUT).await?;
        let (status, body) = (response.status, client.read_body(response).await?);
        let is_waiting =
            serde_json::from_slice::<WaitingFields>(&body).is_ok_and(|fields| fields.pending.is_some());
        if !(status.is_success() && is_waiting) {
            return Ok(PendingFollowUp::Ended(status, body));
        }
    }
}
