//! `toolyard plugin ls` and `uninstall`: the plugins that a user has on the server.

use clap::Args;
use http::Method;
use serde::{Deserialize, Serialize};
use toolyard_protocol::plugin::{Permissions, PluginId};

use crate::{cli::Context, commands::Verdict, error::CliError, output::Show, text};

/// A plugin as the server tells it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Installed {
    pub(super) id: PluginId,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) status: String,
    pub(super) reason: String,
    pub(super) enabled: bool,
    pub(super) runs: bool,
    pub(super) hidden: Option<String>,
    pub(super) permissions: Permissions,
    pub(super) content_hash: String,
    pub(super) tools: Vec<String>,
    pub(super) installed_at: String,
}

#[derive(Serialize, Deserialize)]
struct List {
    plugins: Vec<Installed>,
}

impl Show for List {
    fn text(&self) -> String {
        if self.plugins.is_empty() {
            return "No plugins yet. Install one with `toolyard plugin install`.".to_owned();
        }
        let head = ["ID", "VERSION", "STATUS", "TOOLS", "RUNS"].map(str::to_owned);
        let rows = self.plugins.iter().map(|plugin| {
            let runs = match &plugin.hidden {
                None => "yes".to_owned(),
                Some(why) => format!("no: {}", text::cut(why, 100)),
            };
            let tools = plugin.tools.len().to_string();
            [plugin.id.to_string(), text::cut(&plugin.version, 20), plugin.status.clone(), tools, runs]
        });
        text::table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
    }
}

pub(super) async fn list(cx: &Context) -> Result<Verdict, CliError> {
    let list: List = cx.client()?.get("api/plugins/installed").await?;
    cx.output.show(&list)?;
    Ok(Verdict::Good)
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  toolyard plugin uninstall com.example.time --user ada@example.com")]
pub(crate) struct UninstallArgs {
    /// Its id
    id: PluginId,
}

#[derive(Serialize)]
struct Removed {
    id: PluginId,
    done: &'static str,
}

impl Show for Removed {
    fn text(&self) -> String {
        format!("{} {}", self.done, self.id)
    }
}

pub(super) async fn uninstall(cx: &Context, args: UninstallArgs) -> Result<Verdict, CliError> {
    cx.client()?.tell(Method::DELETE, &format!("api/plugins/installed/{}", args.id)).await.map_err(listed)?;
    cx.output.show(&Removed { id: args.id, done: "uninstalled" })?;
    Ok(Verdict::Good)
}

fn listed(error: CliError) -> CliError {
    match error {
        CliError::Refused(refused) => {
            refused.listed_by("`toolyard plugin ls --user NAME` lists the plugins of a user").into()
        }
        error => error,
    }
}
