//! `toolyard plugin search`: searches the server's catalogue.

use clap::Args;
use serde::{Deserialize, Serialize};
use toolyard_protocol::plugin::{PluginId, PluginPermissions};
use url::form_urlencoded::Serializer;

use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

/// How much of a description and a publisher is shown, in characters.
const DESCRIPTION_CHARS: usize = 60;
const PUBLISHER_CHARS: usize = 24;

const HELP: &str = "\
Searches ids, names, descriptions and publishers. Lists the latest published version of each plugin.

Examples:
  toolyard plugin search
  toolyard plugin search time zones
  toolyard plugin search --after com.example.time --json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SearchArgs {
    /// The words to search for [default: list everything]
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
    /// Continue after this id
    #[arg(long, value_name = "ID")]
    after: Option<PluginId>,
}

#[derive(Serialize, Deserialize)]
struct PluginSearchOutput {
    plugins: Vec<CataloguePlugin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<PluginId>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CataloguePlugin {
    id: PluginId,
    version: String,
    name: String,
    description: String,
    publisher: Option<String>,
    content_hash: String,
    status: String,
    asks_for: PluginPermissions,
    published_at: String,
}

impl RenderText for PluginSearchOutput {
    fn render_text(&self) -> String {
        if self.plugins.is_empty() {
            return "No plugins found.".to_owned();
        }
        let head = ["ID", "VERSION", "STATUS", "PUBLISHER", "DESCRIPTION"].map(str::to_owned);
        let rows = self.plugins.iter().map(|plugin| {
            let publisher =
                text::truncate_text(plugin.publisher.as_deref().unwrap_or_default(), PUBLISHER_CHARS);
            let description = text::first_line(&plugin.description, DESCRIPTION_CHARS);
            [
                plugin.id.to_string(),
                text::truncate_text(&plugin.version, 20),
                plugin.status.clone(),
                publisher,
                description,
            ]
        });
        let mut shown = text::format_table(&std::iter::once(head).chain(rows).collect::<Vec<_>>());
        if let Some(next) = &self.next {
            shown.push_str(&format!("\nFor more results, add --after {next}"));
        }
        shown
    }
}

pub(super) async fn search_plugins(
    cx: &CommandContext,
    args: SearchArgs,
) -> Result<CommandOutcome, CliError> {
    let mut query = Serializer::new(String::new());
    query.append_pair("q", &args.words.join(" "));
    if let Some(after) = &args.after {
        query.append_pair("after", after.as_str());
    }
    let page: PluginSearchOutput = cx.client()?.get(&format!("api/plugins?{}", query.finish())).await?;
    cx.output.print_result(&page)?;
    Ok(CommandOutcome::Success)
}
