//! `toolyard token revoke`

use clap::Args;
use http::Method;
use serde::Serialize;
use toolyard_protocol::TokenId;

use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText};

#[derive(Debug, Args)]
pub(crate) struct TokenRevokeArgs {
    /// The token's id, as `toolyard token ls` shows it
    id: TokenId,
}

#[derive(Serialize)]
struct TokenRevokedOutput {
    revoked: TokenId,
}

impl RenderText for TokenRevokedOutput {
    fn render_text(&self) -> String {
        format!("revoked {} and all tokens created with it", self.revoked)
    }
}

pub(super) async fn revoke_token(
    cx: &CommandContext,
    args: TokenRevokeArgs,
) -> Result<CommandOutcome, CliError> {
    cx.client()?.send_empty(Method::DELETE, &format!("api/tokens/{}", args.id)).await?;
    cx.output.print_result(&TokenRevokedOutput { revoked: args.id })?;
    Ok(CommandOutcome::Success)
}
