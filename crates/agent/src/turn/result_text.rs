//! A tool result as the model reads it: text, truncated if it is long, with a hint on how to read the rest.

use serde_json::Value;
use toolyard_protocol::result::ToolResult;

use crate::{message::ModelToolCall, tools::FrozenTools};

/// The text of a result: text blocks as they are, structured content as JSON, and a short description of everything
/// else.
pub fn to_model_text(result: &ToolResult) -> String {
    let parts = result.mcp.parts();
    let mut texts: Vec<String> = Vec::new();
    for block in &parts.content {
        texts.push(serde_json::from_str(block.get()).map_or_else(|_| block.get().to_owned(), block_text));
    }
    // Servers that follow MCP repeat structured content as text. Others do not.
    if let Some(structured) = parts.structured_content.filter(|_| texts.is_empty()) {
        texts.push(structured.get().to_owned());
    }
    if texts.is_empty() { "Done.".to_owned() } else { texts.join("\n") }
}

fn block_text(block: Value) -> String {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or("unknown").to_owned();
    match block["type"].as_str() {
        Some("text") => block["text"].as_str().unwrap_or_default().to_owned(),
        Some("image" | "audio") => format!("[{} of type {}]", text(&block, "type"), text(&block, "mimeType")),
        Some("resource_link") => format!("[{}: {}]", text(&block, "name"), text(&block, "uri")),
        Some("resource") => match block["resource"]["text"].as_str() {
            Some(inside) => inside.to_owned(),
            None => format!("[resource {}]", text(&block["resource"], "uri")),
        },
        _ => block.to_string(),
    }
}

/// The part of a result that a model reads at once. The rest is stored, and the text says how to read it.
pub(super) fn truncate_result(
    call: &ModelToolCall,
    text: String,
    most: usize,
    tools: &dyn FrozenTools,
) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text };
    let all = text.chars().count();
    let rest = tools.store_full_result(call, &text, most);
    let rest = rest.unwrap_or_else(|| "The rest is not available; ask for less.".to_owned());
    format!("{}\n[cut: {most} of {all} characters. {rest}]", &text[..end])
}
