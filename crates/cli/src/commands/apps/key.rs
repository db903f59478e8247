//! `toolyard apps key`

use serde::Serialize;
use toolyard_protocol::{PackageName, api::NewKey};

use super::PackageArg;
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AppKeyOutput {
    package_name: PackageName,
    #[serde(flatten)]
    key: NewKey,
}

impl RenderText for AppKeyOutput {
    fn render_text(&self) -> String {
        format!(
            "API key  {}\n\nIt is shown only once. The old key of {} is no longer valid: give the new one to the app.",
            self.key.api_key, self.package_name
        )
    }
}

pub(super) async fn rotate_app_key(
    cx: &CommandContext,
    args: PackageArg,
) -> Result<CommandOutcome, CliError> {
    let key: NewKey = cx.client()?.post_empty(&format!("api/apps/{}/key", args.package)).await?;
    cx.output.print_result(&AppKeyOutput { package_name: args.package, key })?;
    Ok(CommandOutcome::Success)
}
