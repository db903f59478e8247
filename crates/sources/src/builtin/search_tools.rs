//! `search_tools`: finds tools by words, among those that the caller can call: what it finds must not lead nowhere.

use serde::Deserialize;
use serde_json::{Value, json};
use toolyard_core::{CatalogView, ports::ToolSearch};
use toolyard_toolbox::Output;

/// Tools in one answer where nobody says how many, and at most.
const SOME: usize = 8;
const MOST: usize = 30;
/// Characters of a description in the answer.
const DESCRIPTION: usize = 200;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    query: String,
    #[serde(default)]
    limit: Option<u64>,
}

pub(super) fn definition() -> Value {
    json!({
        "name": "search_tools",
        "title": "Search tools",
        "description": "Finds tools by what they do. Use it when none of the tools at hand fits; what it finds can be called by \
            its name.",
        "inputSchema": { "type": "object", "properties": {
            "query": { "type": "string", "minLength": 1, "maxLength": 500,
                "description": "What the tool shall do, in a few words, such as `send a message`" },
            "limit": { "type": "integer", "minimum": 1, "maximum": MOST, "description": "How many at most; 8 if missing" }
        }, "required": ["query"], "additionalProperties": false },
        "annotations": { "title": "Search tools", "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
            "openWorldHint": false }
    })
}

pub(super) async fn run(arguments: &Arguments, view: &CatalogView, finder: &dyn ToolSearch) -> Output {
    let most = arguments.limit.map_or(SOME, |limit| usize::try_from(limit).unwrap_or(MOST).clamp(1, MOST));
    let found = finder.search(view, &arguments.query, most).await;
    if found.is_empty() {
        let text = "No tool fits these words; try others, or do without.".to_owned();
        return Output { text, structured: Some(json!({ "tools": [] })) };
    }
    let lines = found.iter().map(|tool| format!("{}: {}", tool.alias, short(&tool.definition.description)));
    let tools: Vec<Value> = found
        .iter()
        .map(|tool| {
            json!({ "name": tool.alias, "canonicalName": tool.name, "title": tool.definition.title,
                "description": short(&tool.definition.description), "inputSchema": tool.definition.input_schema() })
        })
        .collect();
    Output { text: lines.collect::<Vec<_>>().join("\n"), structured: Some(json!({ "tools": tools })) }
}

fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(DESCRIPTION) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
