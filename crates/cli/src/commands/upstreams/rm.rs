//! `toolyard upstreams rm`

use clap::Args;
use http::Method;
use serde::Serialize;

use super::{parse_upstream_id, upstream_path, with_upstream_hint};
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, input, output::RenderText};

#[derive(Debug, Args)]
pub(crate) struct UpstreamsRmArgs {
    /// The upstream, such as github
    #[arg(value_parser = parse_upstream_id)]
    id: String,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

#[derive(Serialize)]
struct UpstreamRemovedOutput {
    id: String,
    done: &'static str,
}

impl RenderText for UpstreamRemovedOutput {
    fn render_text(&self) -> String {
        format!("{} {}", self.done, self.id)
    }
}

pub(super) async fn remove_upstream(
    cx: &CommandContext,
    args: UpstreamsRmArgs,
) -> Result<CommandOutcome, CliError> {
    let client = cx.client()?;
    if !args.yes {
        input::ask_confirmation(&format!(
            "Remove {} with its installs and the authorizations of its users?",
            args.id
        ))?;
    }
    client.send_empty(Method::DELETE, &upstream_path(&args.id)).await.map_err(with_upstream_hint)?;
    cx.output.print_result(&UpstreamRemovedOutput { id: args.id, done: "removed" })?;
    Ok(CommandOutcome::Success)
}
