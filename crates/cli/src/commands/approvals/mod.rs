//! `toolyard approvals`: lists and answers approvals, and decides which calls run without one.

mod answer;
mod browsers;
mod choose;
pub(crate) mod formatting;
mod grants;
mod list;
mod pending;
mod policy;
mod predicate;
mod watch;

use clap::{Args, Subcommand};

pub(crate) use self::{
    answer::shown_answer,
    pending::{PendingFollowUp, follow_pending},
};
use super::CommandOutcome;
use crate::{cli::CommandContext, error::CliError};

const HELP: &str = "\
Without a command, it lists the calls that wait for your answer. Only you can answer: someone who acts for you cannot.

Examples:
  toolyard approvals --user ada@example.com
  toolyard approvals watch                              print new questions and answer them here
  toolyard approvals approve 0198c2f5b1e07d7c9f3a52c1d4e6f708 --remember tool --days 30
  toolyard approvals deny 0198c2f5b1e07d7c9f3a52c1d4e6f708 --note 'keep that one'
  toolyard approvals choose com.example.notes:delete ask
  toolyard approvals grant com.example.bank:pay --days 7 --uses 5 --where '/amount<50'
  toolyard approvals policy set policy.toml             for operators";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    command: Option<ApprovalsCommand>,
}

#[derive(Debug, Subcommand)]
enum ApprovalsCommand {
    /// List approvals, newest first
    Ls(list::ApprovalListArgs),
    /// Show an approval: what is asked, by whom, and how it ended
    Show(list::ApprovalShowArgs),
    /// Answer with yes: the call runs once, exactly as shown
    Approve(answer::ApproveArgs),
    /// Answer with no: the call does not run
    Deny(answer::DenyArgs),
    /// Print questions as they arrive; in a terminal, answer them with y or n
    Watch,
    /// Choose for one tool: run always, ask each time, never run, or what the policy says
    Choose(choose::ChooseArgs),
    /// List your choices
    Choices,
    /// List remembered approvals, and calls that you allowed in advance
    Grants,
    /// Allow calls of a tool in advance, for callers that run when you cannot answer
    Grant(grants::ApprovalGrantArgs),
    /// Revoke a remembered approval or a grant
    Revoke(grants::RevokeArgs),
    /// List the browsers in which you are notified, remove one, or send a test
    Browsers(browsers::BrowsersArgs),
    /// Show or change the operator's policy
    Policy(policy::PolicyArgs),
    /// Show what a rule would have done to the last 1,000 calls
    Preview(policy::PreviewArgs),
}

pub(crate) async fn run_approvals_command(
    cx: &CommandContext,
    args: ApprovalsArgs,
) -> Result<CommandOutcome, CliError> {
    let Some(command) = args.command else {
        return list::list_approvals(cx, &list::ApprovalListArgs::default()).await;
    };
    match command {
        ApprovalsCommand::Ls(args) => list::list_approvals(cx, &args).await,
        ApprovalsCommand::Show(args) => list::show_approval(cx, &args).await,
        ApprovalsCommand::Approve(args) => answer::approve(cx, args).await,
        ApprovalsCommand::Deny(args) => answer::deny(cx, args).await,
        ApprovalsCommand::Watch => watch::watch_approvals(cx).await,
        ApprovalsCommand::Choose(args) => choose::choose_for_tool(cx, &args).await,
        ApprovalsCommand::Choices => choose::list_choices(cx).await,
        ApprovalsCommand::Grants => grants::list_grants(cx).await,
        ApprovalsCommand::Grant(args) => grants::add_grant(cx, args).await,
        ApprovalsCommand::Revoke(args) => grants::revoke_grant(cx, &args).await,
        ApprovalsCommand::Browsers(args) => browsers::run_browsers_command(cx, args).await,
        ApprovalsCommand::Policy(args) => policy::run_policy_command(cx, args).await,
        ApprovalsCommand::Preview(args) => policy::preview_rule(cx, &args).await,
    }
}

/// "Not found" of an approval or a grant.
fn with_list_hint(error: CliError) -> CliError {
    match error {
        CliError::Refused(refused) => refused
            .with_not_found_hint(
                "`toolyard approvals ls --state all` and `toolyard approvals grants` list yours",
            )
            .into(),
        other => other,
    }
}
