//! `toolyard users sign-out`

use clap::Args;
use http::Method;
use serde::Serialize;
use toolyard_protocol::{UserId, accounts::SignOutEverywhere};

use super::{user_path, with_list_hint};
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText};

const HELP: &str = "\
Examples:
  toolyard users sign-out ada@example.com
  toolyard users sign-out ada@example.com --tokens --clients";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct UserSignOutArgs {
    /// The user's id
    #[arg(value_name = "USER")]
    account: UserId,
    /// Also revoke the user's tokens
    #[arg(long)]
    tokens: bool,
    /// Also disconnect the user's clients
    #[arg(long)]
    clients: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SignedOutUser {
    user_id: UserId,
    tokens: bool,
    clients: bool,
}

impl RenderText for SignedOutUser {
    fn render_text(&self) -> String {
        let mut done = format!("signed out {} in all browsers", self.user_id);
        if self.tokens {
            done.push_str(", revoked the tokens");
        }
        if self.clients {
            done.push_str(", disconnected the clients");
        }
        done
    }
}

pub(super) async fn sign_out_user(
    cx: &CommandContext,
    args: UserSignOutArgs,
) -> Result<CommandOutcome, CliError> {
    let UserSignOutArgs { account, tokens, clients } = args;
    let path = format!("{}/sign-out", user_path(&account));
    let request = SignOutEverywhere { tokens, clients };
    cx.client()?.send_document(Method::POST, &path, &request).await.map_err(with_list_hint)?;
    cx.output.print_result(&SignedOutUser { user_id: account, tokens, clients })?;
    Ok(CommandOutcome::Success)
}
