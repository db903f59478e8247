//! `toolyard apps ls`

use serde::{Deserialize, Serialize};
use toolyard_protocol::{api::AppSummary, app::AppKind};

use crate::{cli::Context, commands::Verdict, error::CliError, output::Show, text};

#[derive(Serialize, Deserialize)]
struct Apps {
    apps: Vec<AppSummary>,
}

/// How an app is called, for people.
pub(super) const fn kind(kind: AppKind) -> &'static str {
    match kind {
        AppKind::Session => "session",
        AppKind::ToolsOnly => "tools-only",
    }
}

impl Show for Apps {
    fn text(&self) -> String {
        if self.apps.is_empty() {
            return "No apps yet. Register one with `toolyard apps add`.".to_owned();
        }
        let head = ["PACKAGE", "NAME", "KIND", "TOOLS", "URL"].map(str::to_owned);
        let rows = self.apps.iter().map(|app| {
            let url = app.details.public_url.clone().unwrap_or_else(|| "(none)".to_owned());
            let name = text::cut(&app.details.name, 40);
            let kind = kind(app.details.kind).to_owned();
            [app.package_name.to_string(), name, kind, app.tool_count.to_string(), url]
        });
        text::table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
    }
}

pub(super) async fn run(cx: &Context) -> Result<Verdict, CliError> {
    let apps: Apps = cx.client()?.get("api/apps").await?;
    cx.output.show(&apps)?;
    Ok(Verdict::Good)
}
