//! `toolyard plugin ls` and `uninstall`: the plugins of a user on the server.

use clap::Args;
use http::Method;
use serde::{Deserialize, Serialize};
use toolyard_protocol::plugin::{PluginId, PluginPermissions};

use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

/// An installed plugin, as the server lists it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InstalledPluginSummary {
    pub(super) id: PluginId,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) status: String,
    pub(super) reason: String,
    pub(super) enabled: bool,
    pub(super) runs: bool,
    pub(super) hidden: Option<String>,
    pub(super) permissions: PluginPermissions,
    pub(super) content_hash: String,
    pub(super) tools: Vec<String>,
    pub(super) installed_at: String,
}

#[derive(Serialize, Deserialize)]
struct InstalledPluginList {
    plugins: Vec<InstalledPluginSummary>,
}

impl RenderText for InstalledPluginList {
    fn render_text(&self) -> String {
        if self.plugins.is_empty() {
            return "No plugins yet. Install one with `toolyard plugin install`.".to_owned();
        }
        let head = ["ID", "VERSION", "STATUS", "TOOLS", "RUNS"].map(str::to_owned);
        let rows = self.plugins.iter().map(|plugin| {
            let runs = match &plugin.hidden {
                None => "yes".to_owned(),
                Some(why) => format!("no: {}", text::truncate_text(why, 100)),
            };
            let tools = plugin.tools.len().to_string();
            [
                plugin.id.to_string(),
                text::truncate_text(&plugin.version, 20),
                plugin.status.clone(),
                tools,
                runs,
            ]
        });
        text::format_table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
    }
}

pub(super) async fn list_plugins(cx: &CommandContext) -> Result<CommandOutcome, CliError> {
    let list: InstalledPluginList = cx.client()?.get("api/plugins/installed").await?;
    cx.output.print_result(&list)?;
    Ok(CommandOutcome::Success)
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  toolyard plugin uninstall com.example.time --user ada@example.com")]
pub(crate) struct UninstallArgs {
    /// The plugin's id
    id: PluginId,
}

#[derive(Serialize)]
struct PluginRemovedOutput {
    id: PluginId,
    done: &'static str,
}

impl RenderText for PluginRemovedOutput {
    fn render_text(&self) -> String {
        format!("{} {}", self.done, self.id)
    }
}

pub(super) async fn uninstall_plugin(
    cx: &CommandContext,
    args: UninstallArgs,
) -> Result<CommandOutcome, CliError> {
    cx.client()?
        .send_empty(Method::DELETE, &format!("api/plugins/installed/{}", args.id))
        .await
        .map_err(with_plugin_hint)?;
    cx.output.print_result(&PluginRemovedOutput { id: args.id, done: "uninstalled" })?;
    Ok(CommandOutcome::Success)
}

fn with_plugin_hint(error: CliError) -> CliError {
    match error {
        CliError::Refused(refused) => {
            refused.with_not_found_hint("`toolyard plugin ls --user NAME` lists the plugins of a user").into()
        }
        error => error,
    }
}
