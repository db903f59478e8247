//! `toolyard upstreams ls`

use super::{UpstreamsOutput, formatting};
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

/// How much of a URL or command is shown, in characters.
const SHOWN_CHARS: usize = 60;

impl RenderText for UpstreamsOutput {
    fn render_text(&self) -> String {
        if self.upstreams.is_empty() {
            return "No upstreams yet. Add one with `toolyard upstreams add`.".to_owned();
        }
        let head = ["ID", "WHERE", "STATE", "TOOLS", "LISTED"].map(str::to_owned);
        let rows = self.upstreams.iter().map(|upstream| {
            let status = &upstream.status;
            [
                upstream.id.clone(),
                text::truncate_text(&formatting::format_location(&upstream.details), SHOWN_CHARS),
                formatting::state_label(status.state).to_owned(),
                status.tools.to_string(),
                status.listed_at.clone().unwrap_or_else(|| "never".to_owned()),
            ]
        });
        text::format_table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
    }
}

pub(super) async fn list_upstreams(cx: &CommandContext) -> Result<CommandOutcome, CliError> {
    let upstreams: UpstreamsOutput = cx.client()?.get("api/upstreams").await?;
    cx.output.print_result(&upstreams)?;
    Ok(CommandOutcome::Success)
}
