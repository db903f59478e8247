//! `toolyard users export`

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use toolyard_protocol::UserId;

use super::{user_path, with_list_hint};
use crate::{
    cli::CommandContext,
    commands::CommandOutcome,
    error::CliError,
    new_file::{self, FileAccess},
    output::RenderText,
    text,
};

const HELP: &str = "\
Examples:
  toolyard users export ada@example.com -o ada.json
  toolyard users export ada@example.com > ada.json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct UserExportArgs {
    /// The user's id
    #[arg(value_name = "USER")]
    account: UserId,
    /// Write a new file that only you can read, instead of printing
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The personal data.
#[derive(Serialize)]
#[serde(transparent)]
struct PersonalData(Value);

impl RenderText for PersonalData {
    fn render_text(&self) -> String {
        format!("{:#}", self.0)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExportedUser<'a> {
    user_id: &'a UserId,
    file: &'a PathBuf,
}

impl RenderText for ExportedUser<'_> {
    fn render_text(&self) -> String {
        let file = text::sanitize_line(&self.file.display().to_string());
        format!("wrote everything that is stored about {} to {file}", self.user_id)
    }
}

pub(super) async fn export_user(
    cx: &CommandContext,
    args: &UserExportArgs,
) -> Result<CommandOutcome, CliError> {
    let user_id = &args.account;
    if let Some(file) = args.out.as_ref().filter(|file| file.exists()) {
        return Err(new_file::already_exists(file));
    }
    let path = format!("{}/data", user_path(user_id));
    let data = PersonalData(cx.client()?.get(&path).await.map_err(with_list_hint)?);
    let Some(file) = &args.out else {
        cx.output.print_result(&data)?;
        return Ok(CommandOutcome::Success);
    };
    new_file::create_file(file, &format!("{}\n", data.render_text()), FileAccess::OwnerOnly)?;
    cx.output.print_result(&ExportedUser { user_id, file })?;
    Ok(CommandOutcome::Success)
}
