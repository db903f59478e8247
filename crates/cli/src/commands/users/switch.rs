//! `toolyard users disable` and `enable`

use serde::Serialize;
use toolyard_protocol::{
    UserId,
    accounts::{AccountChange, AccountInfo},
};

use super::{user_path, with_list_hint};
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AccountSwitchOutput {
    user_id: UserId,
    disabled: bool,
}

impl RenderText for AccountSwitchOutput {
    fn render_text(&self) -> String {
        let done = if self.disabled { "disabled" } else { "enabled" };
        format!("{done} {}", self.user_id)
    }
}

pub(super) async fn switch_account(
    cx: &CommandContext,
    user: UserId,
    disabled: bool,
) -> Result<CommandOutcome, CliError> {
    let change = AccountChange { disabled: Some(disabled), ..AccountChange::default() };
    let account: AccountInfo =
        cx.client()?.patch(&user_path(&user), &change).await.map_err(with_list_hint)?;
    let disabled = account.disabled_at.is_some();
    cx.output.print_result(&AccountSwitchOutput { user_id: account.user_id, disabled })?;
    Ok(CommandOutcome::Success)
}
