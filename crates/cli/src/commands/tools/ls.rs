//! `toolyard tools ls`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolyard_protocol::{api::HiddenTool, raw::RawFields, tool::Category};

use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

/// How much of a description is shown, in characters.
const SHOWN_CHARS: usize = 80;

const HELP: &str = "\
Examples:
  toolyard tools ls --user ada@example.com
  toolyard tools ls --hidden --category productivity";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ToolsLsArgs {
    /// Only tools of this category: productivity, media, communication, utility or other
    #[arg(long)]
    category: Option<Category>,
    /// Also list hidden tools, and why they are hidden
    #[arg(long)]
    hidden: bool,
}

#[derive(Serialize, Deserialize)]
struct ToolsOutput {
    tools: Vec<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hidden: Option<Vec<HiddenTool>>,
}

/// Name, and title or description.
pub(crate) fn tool_rows(tools: &[Box<RawValue>]) -> Vec<[String; 2]> {
    let row = |tool: &RawValue| {
        let fields: RawFields = serde_json::from_str(tool.get()).unwrap_or_default();
        let member = |name: &str| {
            fields.parse_field::<String>(name).and_then(Result::ok).filter(|text| !text.is_empty())
        };
        let about = member("title").or_else(|| member("description")).unwrap_or_default();
        [member("name").unwrap_or_default(), text::first_line(&about, SHOWN_CHARS)]
    };
    tools.iter().map(|tool| row(tool)).collect()
}

impl RenderText for ToolsOutput {
    fn render_text(&self) -> String {
        let mut parts = Vec::new();
        parts.push(match self.tools.is_empty() {
            true => "No tools. Install an app with `toolyard apps install PACKAGE --user NAME`.".to_owned(),
            false => text::format_table(&tool_rows(&self.tools)),
        });
        if let Some(hidden) = self.hidden.as_ref().filter(|hidden| !hidden.is_empty()) {
            let rows: Vec<_> =
                hidden.iter().map(|tool| [tool.name.to_string(), tool.reason.clone()]).collect();
            parts.push(format!("\nHidden:\n{}", text::format_table(&rows)));
        }
        parts.join("\n")
    }
}

pub(super) async fn list_tools(cx: &CommandContext, args: ToolsLsArgs) -> Result<CommandOutcome, CliError> {
    let category = args.category.and_then(|category| serde_json::to_value(category).ok());
    let category = category.as_ref().and_then(|category| category.as_str());
    let category = category.map(|category| format!("&category={category}")).unwrap_or_default();
    let listing: ToolsOutput =
        cx.client()?.get(&format!("api/tools?hidden={}{category}", args.hidden)).await?;
    cx.output.print_result(&listing)?;
    Ok(CommandOutcome::Success)
}
