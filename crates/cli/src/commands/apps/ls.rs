//! `toolyard apps ls`

use serde::{Deserialize, Serialize};
use toolyard_protocol::{api::AppSummary, app::AppKind};

use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

#[derive(Serialize, Deserialize)]
struct AppsOutput {
    apps: Vec<AppSummary>,
}

/// The name of an app kind, for people.
pub(super) const fn app_kind_label(kind: AppKind) -> &'static str {
    match kind {
        AppKind::Session => "session",
        AppKind::ToolsOnly => "tools-only",
    }
}

impl RenderText for AppsOutput {
    fn render_text(&self) -> String {
        if self.apps.is_empty() {
            return "No apps yet. Register one with `toolyard apps add`.".to_owned();
        }
        let head = ["PACKAGE", "NAME", "KIND", "TOOLS", "URL"].map(str::to_owned);
        let rows = self.apps.iter().map(|app| {
            let url = app.details.public_url.clone().unwrap_or_else(|| "(none)".to_owned());
            let name = text::truncate_text(&app.details.name, 40);
            let kind = app_kind_label(app.details.kind).to_owned();
            [app.package_name.to_string(), name, kind, app.tool_count.to_string(), url]
        });
        text::format_table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
    }
}

pub(super) async fn list_apps(cx: &CommandContext) -> Result<CommandOutcome, CliError> {
    let apps: AppsOutput = cx.client()?.get("api/apps").await?;
    cx.output.print_result(&apps)?;
    Ok(CommandOutcome::Success)
}
