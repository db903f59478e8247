//! `toolyard upstreams ls`

use super::{Upstreams, words};
use crate::{cli::Context, commands::Verdict, error::CliError, output::Show, text};

/// How much of a URL or command is shown, in characters.
const SHOWN_CHARS: usize = 60;

impl Show for Upstreams {
    fn text(&self) -> String {
        if self.upstreams.is_empty() {
            return "No upstreams yet. Add one with `toolyard upstreams add`.".to_owned();
        }
        let head = ["ID", "WHERE", "STATE", "TOOLS", "LISTED"].map(str::to_owned);
        let rows = self.upstreams.iter().map(|upstream| {
            let status = &upstream.status;
            [
                upstream.id.clone(),
                text::cut(&words::place(&upstream.details), SHOWN_CHARS),
                words::state(status.state).to_owned(),
                status.tools.to_string(),
                status.listed_at.clone().unwrap_or_else(|| "never".to_owned()),
            ]
        });
        text::table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
    }
}

pub(super) async fn run(cx: &Context) -> Result<Verdict, CliError> {
    let upstreams: Upstreams = cx.client()?.get("api/upstreams").await?;
    cx.output.show(&upstreams)?;
    Ok(Verdict::Good)
}
