//! Tools that only the web console can run. The server knows their schemas. Clients get them by requesting their category,
//! unless they declare that they have no interface.

use serde_json::json;
use toolyard_protocol::chat::ClientTool;

/// The category that requests them.
pub(super) const INTERFACE_CATEGORY: &str = "interface";

/// All interface tools.
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

/// Whether the console itself runs the tool.
pub(super) fn is_interface_tool(name: &str) -> bool {
    matches!(name, "open_page" | "show_chart" | "celebrate")
}

#[cfg(test)]
mod tests {
    use toolyard_protocol::chat::{ClientToolLimits, client_tool::check_client_tools};

    #[test]
    fn interface_tools_follow_the_rules_for_client_tools() {
        check_client_tools(&super::all_interface_tools(), &ClientToolLimits::default(), |_| false).unwrap();
    }
}
