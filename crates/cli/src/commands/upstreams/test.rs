//! `toolyard upstreams test`: checks an upstream now.

use serde::Serialize;
use toolyard_protocol::upstream::{UpstreamState, UpstreamSummary};

use super::{UpstreamIdArg, formatting, refresh_upstream};
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

/// The status of an upstream, and the next step.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct UpstreamTestOutput(pub(super) UpstreamSummary);

impl RenderText for UpstreamTestOutput {
    fn render_text(&self) -> String {
        let mut lines = vec![formatting::format_status(&self.0)];
        lines.extend(formatting::format_set_aside(&self.0.status));
        lines.extend(
            formatting::next_step(&self.0).map(|next| format!("next: {}", text::sanitize_line(&next))),
        );
        lines.join("\n")
    }
}

pub(super) async fn test_upstream(
    cx: &CommandContext,
    args: &UpstreamIdArg,
) -> Result<CommandOutcome, CliError> {
    let upstream = refresh_upstream(&cx.client()?, &args.id).await?;
    let up = upstream.status.state == UpstreamState::Up;
    cx.output.print_result(&UpstreamTestOutput(upstream))?;
    Ok(if up { CommandOutcome::Success } else { CommandOutcome::Failure })
}
