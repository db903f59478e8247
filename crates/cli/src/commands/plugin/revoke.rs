//! `toolyard plugin revoke`: calls a plugin back, for everybody who believes the server's lists.

use clap::Args;
use serde::{Deserialize, Serialize};
use toolyard_protocol::plugin::{ContentHash, PluginId};

use super::with_catalogue_hint;
use crate::{
    cli::CommandContext, commands::CommandOutcome, error::CliError, input, output::RenderText, text,
};

const HELP: &str = "\
What is called back does not run any more, from now on and for good: there is no way to take it back. Name a version
of the catalogue or a content, or neither to call back every version that there is and will be. Needs a token with the
role curator.

Examples:
  toolyard plugin revoke com.example.time --version 1.2.0 --reason 'sends addresses to strangers'
  toolyard plugin revoke com.example.time --reason 'its author is gone' --yes";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PluginRevokeArgs {
    /// Its id
    id: PluginId,
    /// Only this version of the catalogue
    #[arg(long, value_name = "VERSION", conflicts_with = "hash")]
    version: Option<String>,
    /// Only this content, under whatever id
    #[arg(long, value_name = "HASH")]
    hash: Option<ContentHash>,
    /// Why, for everybody who meets it
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Do not ask before every version is called back
    #[arg(long)]
    yes: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PluginRevokeRequest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_hash: Option<&'a ContentHash>,
    reason: &'a str,
}

#[derive(Deserialize)]
struct PluginRevokeResponse {
    revoked: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PluginRevokedOutput {
    id: PluginId,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_hash: Option<ContentHash>,
    /// False where that had been said before.
    revoked: bool,
}

impl RenderText for PluginRevokedOutput {
    fn render_text(&self) -> String {
        let what = match (&self.version, &self.content_hash) {
            (Some(version), _) => format!("{} {version}", self.id),
            (None, Some(hash)) => format!("the content {hash}"),
            (None, None) => format!("every version of {}", self.id),
        };
        let told = if self.revoked {
            format!("called back {what}; it runs no more")
        } else {
            format!("{what} had been called back before")
        };
        text::sanitize_line(&told)
    }
}

pub(super) async fn revoke_plugin(
    cx: &CommandContext,
    args: PluginRevokeArgs,
) -> Result<CommandOutcome, CliError> {
    let PluginRevokeArgs { id, version, hash, reason, yes } = args;
    if version.is_none() && hash.is_none() && !yes {
        input::ask_confirmation(&format!("call back every version of {id}, for good?"))?;
    }
    let wanted =
        PluginRevokeRequest { version: version.as_deref(), content_hash: hash.as_ref(), reason: &reason };
    let answer = cx.client()?.post(&format!("api/plugins/{id}/revoke"), &wanted).await;
    let PluginRevokeResponse { revoked } = answer.map_err(with_catalogue_hint)?;
    cx.output.print_result(&PluginRevokedOutput { id, version, content_hash: hash, revoked })?;
    Ok(CommandOutcome::Success)
}
