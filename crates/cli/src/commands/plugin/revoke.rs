//! `toolyard plugin revoke`: revokes a plugin for everyone who trusts the server's lists.

use clap::Args;
use serde::{Deserialize, Serialize};
use toolyard_protocol::plugin::{ContentHash, PluginId};

use super::with_catalogue_hint;
use crate::{
    cli::CommandContext, commands::CommandOutcome, error::CliError, input, output::RenderText, text,
};

const HELP: &str = "\
A revoked plugin no longer runs. This is permanent and cannot be undone. Pass a version of the catalogue or a content
hash, or neither to revoke every version, including future ones. Requires a token with the role curator.

Examples:
  toolyard plugin revoke com.example.time --version 1.2.0 --reason 'sends addresses to strangers'
  toolyard plugin revoke com.example.time --reason 'its author is gone' --yes";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PluginRevokeArgs {
    /// The plugin's id
    id: PluginId,
    /// Only this version of the catalogue
    #[arg(long, value_name = "VERSION", conflicts_with = "hash")]
    version: Option<String>,
    /// Only this content, under any id
    #[arg(long, value_name = "HASH")]
    hash: Option<ContentHash>,
    /// The reason, shown to everyone who has the plugin
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Do not ask for confirmation before every version is revoked
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
    /// False if it had been revoked before.
    revoked: bool,
}

impl RenderText for PluginRevokedOutput {
    fn render_text(&self) -> String {
        let what = match (&self.version, &self.content_hash) {
            (Some(version), _) => format!("{} {version}", self.id),
            (None, Some(hash)) => format!("content {hash}"),
            (None, None) => format!("every version of {}", self.id),
        };
        let line = if self.revoked {
            format!("revoked {what}; it no longer runs")
        } else {
            format!("{what} had already been revoked")
        };
        text::sanitize_line(&line)
    }
}

pub(super) async fn revoke_plugin(
    cx: &CommandContext,
    args: PluginRevokeArgs,
) -> Result<CommandOutcome, CliError> {
    let PluginRevokeArgs { id, version, hash, reason, yes } = args;
    if version.is_none() && hash.is_none() && !yes {
        input::ask_confirmation(&format!("Revoke every version of {id} permanently?"))?;
    }
    let wanted =
        PluginRevokeRequest { version: version.as_deref(), content_hash: hash.as_ref(), reason: &reason };
    let answer = cx.client()?.post(&format!("api/plugins/{id}/revoke"), &wanted).await;
    let PluginRevokeResponse { revoked } = answer.map_err(with_catalogue_hint)?;
    cx.output.print_result(&PluginRevokedOutput { id, version, content_hash: hash, revoked })?;
    Ok(CommandOutcome::Success)
}
