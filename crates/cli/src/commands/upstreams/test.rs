//! `toolyard upstreams test`: asks an upstream now.

use serde::Serialize;
use toolyard_protocol::upstream::{UpstreamState, UpstreamSummary};

use super::{IdArg, refresh, words};
use crate::{cli::Context, commands::Verdict, error::CliError, output::Show, text};

/// How an upstream is doing, and what to do about it.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Asked(pub(super) UpstreamSummary);

impl Show for Asked {
    fn text(&self) -> String {
        let mut lines = vec![words::doing(&self.0)];
        lines.extend(words::set_aside(&self.0.status));
        lines.extend(words::next(&self.0).map(|next| format!("next: {}", text::line(&next))));
        lines.join("\n")
    }
}

pub(super) async fn run(cx: &Context, args: &IdArg) -> Result<Verdict, CliError> {
    let upstream = refresh(&cx.client()?, &args.id).await?;
    let up = upstream.status.state == UpstreamState::Up;
    cx.output.show(&Asked(upstream))?;
    Ok(if up { Verdict::Good } else { Verdict::Bad })
}
