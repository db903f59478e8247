//! `toolyard users delete`

use clap::Args;
use http::Method;
use serde::Serialize;
use toolyard_protocol::{
    UserId,
    accounts::{AccountInfo, DeletionConfirmation},
};

use super::{formatting::count, user_path, with_list_hint};
use crate::{
    cli::CommandContext, client::ApiClient, commands::CommandOutcome, error::CliError, input,
    output::RenderText,
};

const HELP: &str = "\
This cannot be undone. `toolyard users export` writes everything into a file first.

Examples:
  toolyard users delete ada@example.com
  toolyard users delete ada@example.com --yes";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct UserDeleteArgs {
    /// The user's id
    #[arg(value_name = "USER")]
    account: UserId,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

#[derive(Serialize)]
struct DeletedUser {
    deleted: UserId,
}

impl RenderText for DeletedUser {
    fn render_text(&self) -> String {
        format!("deleted {} and everything that was stored about them", self.deleted)
    }
}

/// The question, which says what is lost.
async fn confirmation_question(client: &ApiClient, user: &UserId) -> Result<String, CliError> {
    // A user without an account can be deleted too.
    let account: Option<AccountInfo> = client.get_optional(&user_path(user)).await?;
    let lost = account.map_or_else(String::new, |account| {
        let parts = [
            count(account.sessions.len(), "browser session"),
            count(account.tokens, "token"),
            count(account.clients, "client"),
            count(account.apps, "app"),
        ];
        format!("their account with {}, and ", parts.join(", "))
    });
    Ok(format!("Delete {user}: {lost}everything that is stored about them? This cannot be undone."))
}

pub(super) async fn delete_user(
    cx: &CommandContext,
    args: UserDeleteArgs,
) -> Result<CommandOutcome, CliError> {
    let (client, user) = (cx.client()?, args.account);
    if !args.yes {
        input::ask_confirmation(&confirmation_question(&client, &user).await?)?;
    }
    let request = DeletionConfirmation { confirm: user.clone() };
    client.send_document(Method::DELETE, &user_path(&user), &request).await.map_err(with_list_hint)?;
    cx.output.print_result(&DeletedUser { deleted: user })?;
    Ok(CommandOutcome::Success)
}
