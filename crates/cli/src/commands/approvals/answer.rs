//! `toolyard approvals approve` and `deny`

use clap::{Args, ValueEnum};
use serde::Serialize;
use toolyard_protocol::{
    ApprovalId,
    approval::{AnswerRequest, ApprovalAnswer, ApprovalInfo, ApprovalSurface, RememberScope},
};

use super::{formatting, with_list_hint};
use crate::{
    cli::CommandContext, client::ApiClient, commands::CommandOutcome, error::CliError, output::RenderText,
};

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// The approval's id
    id: ApprovalId,
    /// How the yes is remembered: not at all, for this conversation, for every call of the tool, or for the same arguments
    #[arg(long, value_enum, default_value_t = RememberFlag::Once)]
    remember: RememberFlag,
    /// Forget it after this many days; for `tool` and `arguments`
    #[arg(long, value_name = "N")]
    days: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RememberFlag {
    Once,
    Conversation,
    Tool,
    Arguments,
}

impl ApproveArgs {
    fn scope(&self) -> Result<RememberScope, CliError> {
        let days = self.days;
        match self.remember {
            RememberFlag::Tool => Ok(RememberScope::Tool { days }),
            RememberFlag::Arguments => Ok(RememberScope::Arguments { days }),
            RememberFlag::Once | RememberFlag::Conversation if days.is_some() => Err(CliError::usage(
                "--days needs something to remember",
                "add --remember tool or --remember arguments",
            )),
            RememberFlag::Once => Ok(RememberScope::Once),
            RememberFlag::Conversation => Ok(RememberScope::Conversation),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    /// The approval's id
    id: ApprovalId,
    /// Why; the caller gets it
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

/// An answered approval.
#[derive(Serialize)]
#[serde(transparent)]
struct AnsweredApproval(ApprovalInfo);

impl RenderText for AnsweredApproval {
    fn render_text(&self) -> String {
        format!("{}\n{}", formatting::format_question(&self.0), formatting::format_state(&self.0))
    }
}

pub(super) async fn approve(cx: &CommandContext, args: ApproveArgs) -> Result<CommandOutcome, CliError> {
    let scope = args.scope()?;
    let yes = AnswerRequest { remember: Some(scope), ..terminal_answer(ApprovalAnswer::Approve) };
    print_answered(cx, &args.id, &yes).await
}

pub(super) async fn deny(cx: &CommandContext, args: DenyArgs) -> Result<CommandOutcome, CliError> {
    let no = AnswerRequest { note: args.note, ..terminal_answer(ApprovalAnswer::Deny) };
    print_answered(cx, &args.id, &no).await
}

async fn print_answered(
    cx: &CommandContext,
    id: &ApprovalId,
    request: &AnswerRequest,
) -> Result<CommandOutcome, CliError> {
    let answered = cx.client()?.post(&format!("api/approvals/{id}"), request).await;
    cx.output.print_result(&AnsweredApproval(answered.map_err(with_list_hint)?))?;
    Ok(CommandOutcome::Success)
}

/// An answer that was given in a terminal.
fn terminal_answer(answer: ApprovalAnswer) -> AnswerRequest {
    AnswerRequest {
        answer,
        remember: None,
        surface: Some(ApprovalSurface::Terminal),
        note: None,
        arguments_digest: None,
    }
}

/// The answer to a question that was shown here. The server refuses it if the question is about other arguments.
pub(crate) fn shown_answer(shown: &ApprovalInfo, is_yes: bool) -> AnswerRequest {
    let answer = if is_yes { ApprovalAnswer::Approve } else { ApprovalAnswer::Deny };
    AnswerRequest { arguments_digest: Some(shown.arguments_digest.clone()), ..terminal_answer(answer) }
}

/// Answers a question that was shown here.
pub(super) async fn answer_shown(
    client: &ApiClient,
    shown: &ApprovalInfo,
    is_yes: bool,
) -> Result<ApprovalInfo, CliError> {
    client.post(&format!("api/approvals/{}", shown.id), &shown_answer(shown, is_yes)).await
}
