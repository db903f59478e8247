//! `search_tools`: finds tools by words, only among those that the caller can call.

use serde::Deserialize;
use serde_json::{Value, json};
use toolyard_core::{CatalogView, ports::ToolSearch};
use toolyard_protocol::text::truncate_chars;
use toolyard_toolbox::ToolboxOutput;

/// Tools per response: default and maximum.
const DEFAULT_TOOLS: usize = 8;
const MAX_TOOLS: usize = 30;
/// Characters of a description in the response.
const MAX_DESCRIPTION_CHARS: usize = 200;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchToolsArguments {
    query: String,
    #[serde(default)]
    limit: Option<u64>,
}

pub(super) fn search_tools_definition() -> Value {
    json!({
        "name": "search_tools",
        "title": "Search tools",
        "description": "Finds tools by what they do. Use it when none of the tools at hand fits; what it finds can be called by \
            its name.",
        "inputSchema": { "type": "object", "properties": {
            "query": { "type": "string", "minLength": 1, "maxLength": 500,
                "description": "What the tool should do, in a few words, such as `send a message`" },
            "limit": { "type": "integer", "minimum": 1, "maximum": MAX_TOOLS, "description": "How many at most; 8 if missing" }
        }, "required": ["query"], "additionalProperties": false },
        "annotations": { "title": "Search tools", "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
            "openWorldHint": false }
    })
}

pub(super) async fn run_search(
    arguments: &SearchToolsArguments,
    view: &CatalogView,
    finder: &dyn ToolSearch,
) -> ToolboxOutput {
    let most = arguments
        .limit
        .map_or(DEFAULT_TOOLS, |limit| usize::try_from(limit).unwrap_or(MAX_TOOLS).clamp(1, MAX_TOOLS));
    let found = finder.search_tools(view, &arguments.query, most).await;
    if found.is_empty() {
        let text = "No tool fits these words; try others, or do without.".to_owned();
        return ToolboxOutput { text, structured: Some(json!({ "tools": [] })) };
    }
    let lines = found
        .iter()
        .map(|tool| format!("{}: {}", tool.alias, shorten_description(&tool.definition.description)));
    let tools: Vec<Value> = found
        .iter()
        .map(|tool| {
            json!({ "name": tool.alias, "canonicalName": tool.name, "title": tool.definition.title,
                "description": shorten_description(&tool.definition.description), "inputSchema": tool.definition.input_schema() })
        })
        .collect();
    ToolboxOutput { text: lines.collect::<Vec<_>>().join("\n"), structured: Some(json!({ "tools": tools })) }
}

fn shorten_description(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    truncate_chars(&line, MAX_DESCRIPTION_CHARS).into_owned()
}
