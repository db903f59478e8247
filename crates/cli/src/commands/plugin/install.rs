//! `toolyard plugin install`: installs a plugin on the server for a user, after they agreed to its permissions.

use std::{path::Path, time::Duration};

use bytes::Bytes;
use clap::Args;
use http::{Method, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolyard_protocol::plugin::{PluginId, PluginPermissions};

use super::{formatting, installed::InstalledPluginSummary, read_manifest, with_catalogue_hint};
use crate::{
    cli::CommandContext, client::ApiClient, commands::CommandOutcome, error::CliError, input,
    output::RenderText, text,
};

/// Timeout of the request.
const WAIT: Duration = Duration::from_secs(30);

const HELP: &str = "\
The server verifies the plugin each time it is loaded, and grants only the permissions that you agreed to. You are asked
again if an update needs more permissions, is an older version, or comes from another publisher or signer.

Examples:
  toolyard plugin install hello.json --user ada@example.com
  toolyard plugin install com.example.time@1.2.0 --user ada@example.com
  toolyard plugin install com.example.time --yes --json --user ada@example.com";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct InstallArgs {
    /// A packed and signed plugin, or the id of a plugin in the server's catalogue
    #[arg(value_name = "FILE|ID[@VERSION]")]
    plugin: String,
    /// Agree to all permissions that the plugin asks for
    #[arg(long)]
    yes: bool,
}

/// Body of the install request.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PluginInstallRequest {
    #[serde(flatten)]
    what: PluginOrigin,
    #[serde(skip_serializing_if = "Option::is_none")]
    permissions: Option<PluginPermissions>,
    accept_change: bool,
}

#[derive(Serialize, Clone)]
#[serde(untagged)]
enum PluginOrigin {
    File {
        /// Byte for byte as it was signed.
        manifest: Box<RawValue>,
    },
    #[serde(rename_all = "camelCase")]
    Listed {
        catalogue_id: PluginId,
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<String>,
    },
}

/// What the user must agree to before the server installs the plugin.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequiredConsent {
    asks_for: PluginPermissions,
    not_agreed: PluginPermissions,
    change: Option<ConsentChange>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct ConsentChange {
    downgrade: bool,
    publisher_changed: bool,
    signer_changed: bool,
}

impl RequiredConsent {
    /// The question for the user.
    fn consent_question(&self, name: &str) -> String {
        let mut lines = Vec::new();
        if !self.not_agreed.is_empty() {
            lines.push(format!("{name} asks for these permissions:"));
            lines.extend(
                formatting::describe_permissions(&self.not_agreed)
                    .iter()
                    .map(|permission| format!("  {permission}")),
            );
        }
        let changed = self.change.as_ref();
        for (applies, text) in [
            (changed.is_some_and(|change| change.downgrade), "is an older version than the installed one"),
            (changed.is_some_and(|change| change.publisher_changed), "has another publisher than before"),
            (changed.is_some_and(|change| change.signer_changed), "is signed with another key than before"),
        ] {
            if applies {
                lines.push(format!("{name} {text}"));
            }
        }
        lines.iter().map(|line| text::sanitize_line(line)).collect::<Vec<_>>().join("\n")
    }
}

#[derive(Serialize)]
#[serde(transparent)]
struct PluginInstalledOutput(InstalledPluginSummary);

impl RenderText for PluginInstalledOutput {
    fn render_text(&self) -> String {
        let plugin = &self.0;
        let mut lines = vec![text::sanitize_line(&format!(
            "installed {} {} ({})",
            plugin.id, plugin.version, plugin.status
        ))];
        lines.push("permissions:".to_owned());
        lines.extend(
            formatting::describe_permissions(&plugin.permissions)
                .iter()
                .map(|may| format!("  {}", text::sanitize_line(may))),
        );
        let tools: Vec<_> = plugin.tools.iter().map(|tool| format!("plugin.{}:{tool}", plugin.id)).collect();
        lines.push(text::sanitize_line(&format!("tools: {}", tools.join(", "))));
        lines.join("\n")
    }
}

fn resolve_plugin(plugin: &str) -> Result<PluginOrigin, CliError> {
    let path = Path::new(plugin);
    // A folder with that name is the plugin's source.
    if path.is_file() {
        let manifest = read_manifest(path)?;
        let raw = RawValue::from_string(manifest.raw().trim().to_owned());
        return raw
            .map(|manifest| PluginOrigin::File { manifest })
            .map_err(|error| super::file_problem(path, error));
    }
    let (id, version) = match plugin.split_once('@') {
        Some((id, version)) => (id, Some(version.to_owned())),
        None => (plugin, None),
    };
    match id.parse() {
        Ok(catalogue_id) if !plugin.contains('/') => Ok(PluginOrigin::Listed { catalogue_id, version }),
        _ => Err(CliError::usage(
            format!("{} is neither a file nor a valid plugin id", text::sanitize_line(plugin)),
            "pass a packed plugin (`toolyard plugin pack`), or ID[@VERSION] from the catalogue",
        )),
    }
}

async fn request_install(
    client: &ApiClient,
    wanted: &PluginInstallRequest,
) -> Result<Result<InstalledPluginSummary, RequiredConsent>, CliError> {
    let request = client.build_request(Method::POST, "api/plugins/installed")?;
    let request = request.header(header::CONTENT_TYPE, "application/json");
    let body = Bytes::from(serde_json::to_vec(wanted).map_err(|error| client.invalid_response(error))?);
    let answer = client.send(client.finish_request(request, body)?, WAIT).await?;
    let (status, body) = (answer.status, client.read_body(answer).await?);
    if status.is_success() {
        return serde_json::from_slice(&body).map(Ok).map_err(|error| client.invalid_response(error));
    }
    match serde_json::from_slice::<RequiredConsent>(&body) {
        Ok(needs) if status == StatusCode::CONFLICT => Ok(Err(needs)),
        _ => Err(with_catalogue_hint(client.server_refusal(status, &body))),
    }
}

pub(super) async fn install_plugin(
    cx: &CommandContext,
    args: InstallArgs,
) -> Result<CommandOutcome, CliError> {
    let (client, what) = (cx.client()?, resolve_plugin(&args.plugin)?);
    let first = PluginInstallRequest { what: what.clone(), permissions: None, accept_change: false };
    let installed = match request_install(&client, &first).await? {
        Ok(installed) => installed,
        Err(needs) => {
            let question = needs.consent_question(&args.plugin);
            if args.yes {
                cx.output.print_note(&question);
            } else {
                input::ask_confirmation(&format!("{question}\nAgree?"))?;
            }
            let agreed =
                PluginInstallRequest { what, permissions: Some(needs.asks_for), accept_change: true };
            match request_install(&client, &agreed).await? {
                Ok(installed) => installed,
                Err(_) => {
                    let next = "run the command again to see its current permissions";
                    return Err(CliError::usage("the plugin changed during the install", next));
                }
            }
        }
    };
    cx.output.print_result(&PluginInstalledOutput(installed))?;
    Ok(CommandOutcome::Success)
}
