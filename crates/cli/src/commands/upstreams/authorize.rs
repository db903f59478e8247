//! `toolyard upstreams authorize`: prints the link with which a user authorizes an upstream, or removes the authorization.

use clap::Args;
use http::Method;
use serde::{Deserialize, Serialize};

use super::{parse_upstream_id, upstream_path};
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

const HELP: &str = "\
The link works once and is valid for a few minutes. Open it in a browser to authorize the upstream for the user.

Examples:
  toolyard upstreams authorize github --user ada@example.com
  toolyard upstreams authorize github --forget --user ada@example.com";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct AuthorizeArgs {
    /// The upstream, such as github
    #[arg(value_parser = parse_upstream_id)]
    id: String,
    /// Remove the user's authorization
    #[arg(long)]
    forget: bool,
}

#[derive(Serialize, Deserialize)]
struct AuthorizeLinkOutput {
    link: String,
}

impl RenderText for AuthorizeLinkOutput {
    /// Only the link, so that a script can use the output as it is.
    fn render_text(&self) -> String {
        text::sanitize_line(&self.link)
    }
}

#[derive(Serialize)]
struct AuthorizationForgetOutput {
    id: String,
    done: &'static str,
}

impl RenderText for AuthorizationForgetOutput {
    fn render_text(&self) -> String {
        format!("{} the authorization for {}", self.done, self.id)
    }
}

pub(super) async fn authorize_upstream(
    cx: &CommandContext,
    args: AuthorizeArgs,
) -> Result<CommandOutcome, CliError> {
    let (client, path) = (cx.client()?, format!("{}/authorize", upstream_path(&args.id)));
    if args.forget {
        client.send_empty(Method::DELETE, &path).await.map_err(with_install_hint)?;
        cx.output.print_result(&AuthorizationForgetOutput { id: args.id, done: "forgot" })?;
        return Ok(CommandOutcome::Success);
    }
    let link: AuthorizeLinkOutput = client.post_empty(&path).await.map_err(with_install_hint)?;
    cx.output.print_note("open this link in a browser:");
    cx.output.print_result(&link)?;
    Ok(CommandOutcome::Success)
}

/// Points to the install: users see only upstreams that they have installed or that are for all.
fn with_install_hint(error: CliError) -> CliError {
    match error {
        CliError::Refused(refused) => refused
            .with_not_found_hint("install it for the user first: `toolyard apps install mcp.ID --user NAME`")
            .into(),
        error => error,
    }
}
