//! `toolyard apps show`

use serde::Serialize;
use toolyard_protocol::{api::AppSummary, app::AppType};

use super::{PackageArg, ls::app_kind_label};
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

#[derive(Serialize)]
#[serde(transparent)]
struct AppDetailsOutput(AppSummary);

impl RenderText for AppDetailsOutput {
    fn render_text(&self) -> String {
        let Self(app) = self;
        let details = &app.details;
        let listed = |names: Vec<String>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let permissions = details.permissions.iter().map(|permission| permission.kind.to_string());
        let hardware = details.hardware_requirements.iter().map(|requirement| {
            let word = |value| {
                serde_json::to_value(value).ok().and_then(|word| word.as_str().map(str::to_lowercase))
            };
            let kind = word(serde_json::to_value(&requirement.kind).unwrap_or_default()).unwrap_or_default();
            let level = word(serde_json::to_value(requirement.level).unwrap_or_default()).unwrap_or_default();
            format!("{kind} ({level})")
        });
        let app_type = match details.app_type {
            AppType::Standard => "standard",
            AppType::Background => "background",
        };
        let rows = [
            ("package", app.package_name.to_string()),
            ("name", details.name.clone()),
            ("description", text::first_line(&details.description, 100)),
            (
                "url",
                details.public_url.clone().unwrap_or_else(|| "none; its tools cannot be called".to_owned()),
            ),
            ("kind", app_kind_label(details.kind).to_owned()),
            ("type", app_type.to_owned()),
            ("permissions", listed(permissions.collect())),
            ("hardware", listed(hardware.collect())),
            ("settings", details.settings.len().to_string()),
            ("legacy", if details.legacy { "yes" } else { "no" }.to_owned()),
            ("tools", format!("{} in version {}", app.tool_count, app.tools_version)),
            ("owner", app.owner.clone()),
            ("registered", app.created_at.clone()),
            ("updated", app.updated_at.clone()),
        ];
        text::format_table(&rows.map(|(name, value)| [name.to_owned(), value]))
    }
}

pub(super) async fn show_app(cx: &CommandContext, args: PackageArg) -> Result<CommandOutcome, CliError> {
    let app: AppSummary = cx.client()?.get(&format!("api/apps/{}", args.package)).await?;
    cx.output.print_result(&AppDetailsOutput(app))?;
    Ok(CommandOutcome::Success)
}
