//! `toolyard users show`

use toolyard_protocol::UserId;

use super::{formatting::AccountOutput, user_path, with_list_hint};
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError};

pub(super) async fn show_user(cx: &CommandContext, user: &UserId) -> Result<CommandOutcome, CliError> {
    let account = cx.client()?.get(&user_path(user)).await.map_err(with_list_hint)?;
    cx.output.print_result(&AccountOutput(account))?;
    Ok(CommandOutcome::Success)
}
