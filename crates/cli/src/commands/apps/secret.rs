//! `toolyard apps secret`

use serde::Serialize;
use toolyard_protocol::{PackageName, api::NewSecret};

use super::PackageArg;
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AppSecretOutput {
    package_name: PackageName,
    #[serde(flatten)]
    secret: NewSecret,
}

impl RenderText for AppSecretOutput {
    fn render_text(&self) -> String {
        format!(
            "signing secret  {}\n\nIt is shown only once. Until the next rotation, requests to {} carry signatures of the old and the new one.",
            self.secret.signing_secret, self.package_name
        )
    }
}

pub(super) async fn rotate_signing_secret(
    cx: &CommandContext,
    args: PackageArg,
) -> Result<CommandOutcome, CliError> {
    let secret: NewSecret = cx.client()?.post_empty(&format!("api/apps/{}/secret", args.package)).await?;
    cx.output.print_result(&AppSecretOutput { package_name: args.package, secret })?;
    Ok(CommandOutcome::Success)
}
