//! `toolyard users add`

use clap::Args;
use serde::Serialize;
use toolyard_protocol::{
    UserId,
    accounts::{CreatedAccount, NewAccount},
    api::Role,
};

use super::role_parser;
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

const HELP: &str = "\
The link of --invite is shown once. Send it only to the user: the first person to open it is signed in.

Examples:
  toolyard users add ada@example.com --invite
  toolyard users add ada@example.com --name 'Ada Lovelace' --role developer --group research --group math";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct UserAddArgs {
    /// The user's id, usually an email address
    #[arg(value_name = "USER")]
    account: UserId,
    /// The e-mail address
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
    /// The name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// What the user may do [default: user]
    #[arg(long, value_parser = role_parser())]
    role: Option<Role>,
    /// A group; can be repeated
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
    /// Also create a link that signs the user in once
    #[arg(long)]
    invite: bool,
}

#[derive(Serialize)]
#[serde(transparent)]
struct AddedAccount(CreatedAccount);

impl RenderText for AddedAccount {
    /// The link has a line of its own, so that it can be copied.
    fn render_text(&self) -> String {
        let CreatedAccount { user, link } = &self.0;
        let added = format!("added {} ({})", user.user_id, user.role.as_str());
        match link {
            Some(link) => format!(
                "{added}\nsign-in link, shown once, until {}:\n{}",
                text::sanitize_line(&link.expires_at),
                text::sanitize_line(&link.url)
            ),
            None => format!("{added}\ncreate a sign-in link with `toolyard users link {}`", user.user_id),
        }
    }
}

pub(super) async fn add_user(cx: &CommandContext, args: UserAddArgs) -> Result<CommandOutcome, CliError> {
    let UserAddArgs { account, email, name, role, groups, invite } = args;
    let request = NewAccount { user_id: account, email, name, role, groups, invite };
    let created = cx.client()?.post("api/users", &request).await?;
    cx.output.print_result(&AddedAccount(created))?;
    Ok(CommandOutcome::Success)
}
