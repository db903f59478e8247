//! `toolyard upstreams authorize`: the link that a user opens, and taking the authorization back.

use clap::Args;
use http::Method;
use serde::{Deserialize, Serialize};

use super::{parse_upstream_id, upstream_path};
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

const HELP: &str = "\
The link is good for some minutes. Whoever opens it decides in the browser, once, for the user who asked for it.

Examples:
  toolyard upstreams authorize github --user ada@example.com
  toolyard upstreams authorize github --forget --user ada@example.com";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct AuthorizeArgs {
    /// The upstream, such as github
    #[arg(value_parser = parse_upstream_id)]
    id: String,
    /// Forget what the user authorized
    #[arg(long)]
    forget: bool,
}

#[derive(Serialize, Deserialize)]
struct AuthorizeLinkOutput {
    link: String,
}

impl RenderText for AuthorizeLinkOutput {
    /// Nothing but the link, so that it can be taken as it is.
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
        format!("{} the authorization of {}", self.done, self.id)
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

/// Users see what they have installed, and what is for all.
fn with_install_hint(error: CliError) -> CliError {
    match error {
        CliError::Refused(refused) => refused
            .with_not_found_hint("install it for the user first: `toolyard apps install mcp.ID --user NAME`")
            .into(),
        error => error,
    }
}
