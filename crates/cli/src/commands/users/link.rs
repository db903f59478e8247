//! `toolyard users link`

use serde::Serialize;
use toolyard_protocol::{UserId, accounts::SignInLink};

use super::{user_path, with_list_hint};
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

#[derive(Serialize)]
#[serde(transparent)]
struct SignInLinkOutput(SignInLink);

impl RenderText for SignInLinkOutput {
    /// Only the link, so that a script can use the output as it is.
    fn render_text(&self) -> String {
        text::sanitize_line(&self.0.url)
    }
}

pub(super) async fn create_link(cx: &CommandContext, user: &UserId) -> Result<CommandOutcome, CliError> {
    let path = format!("{}/link", user_path(user));
    let link: SignInLink = cx.client()?.post(&path, &serde_json::json!({})).await.map_err(with_list_hint)?;
    cx.output.print_note(&format!(
        "this link works once, until {}; send it only to {user}: the first person to open it is signed in",
        text::sanitize_line(&link.expires_at)
    ));
    cx.output.print_result(&SignInLinkOutput(link))?;
    Ok(CommandOutcome::Success)
}
