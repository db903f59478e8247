//! Tools that only our own interface can run: known here by their schemas, run there. Clients get them by asking for their
//! category, and never where they say that they have no interface.

use serde_json::json;
use toolyard_protocol::chat::ClientTool;

/// The category under which they are asked for.
pub(super) const INTERFACE_CATEGORY: &str = "interface";

/// All of them.
pub(super) fn all_interface_tools() -> Vec<ClientTool> {
    let tool = |name: &str, description: &str, parameters: serde_json::Value| ClientTool {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters,
    };
    vec![
        tool(
            "open_page",
            "Opens a page of the console for the user, such as the list of their tools.",
            json!({ "type": "object", "properties": { "page": { "type": "string",
                "enum": ["apps", "library", "tools", "chat", "plugins", "glasses", "activity"],
                "description": "Which page" } }, "required": ["page"], "additionalProperties": false }),
        ),
        tool(
            "show_chart",
            "Shows the user numbers as a chart. Use it when there are at least three numbers to compare.",
            json!({ "type": "object", "properties": {
                "title": { "type": "string", "description": "What the chart shows" },
                "kind": { "type": "string", "enum": ["bar", "line"], "description": "Bars to compare, a line for a course" },
                "points": { "type": "array", "minItems": 1, "maxItems": 200, "items": { "type": "object", "properties": {
                    "label": { "type": "string" }, "value": { "type": "number" } }, "required": ["label", "value"],
                    "additionalProperties": false } }
            }, "required": ["title", "kind", "points"], "additionalProperties": false }),
        ),
        tool(
            "celebrate",
            "Lets confetti rain over the user's screen. Only when the user has a reason to be glad.",
            json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use toolyard_protocol::chat::{ClientToolLimits, client_tool::check_client_tools};

    #[test]
    fn they_keep_the_rules_for_all_client_tools() {
        check_client_tools(&super::all_interface_tools(), &ClientToolLimits::default(), |_| false).unwrap();
    }
}
