//! Turns a server's tool list into client tools. A tool that does not fit is set aside; the others are still offered.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use toolyard_mcp_client::UpstreamListing;
use toolyard_protocol::{
    chat::{ClientTool, ClientToolLimits, client_tool::check_client_tools},
    visible::{CleanedJson, strip_invisible_json},
};

use super::{name::tool_name, result::first_chars, schema, server::McpServer};
use crate::tool::{Tool, ToolExecutor};

/// Longest description that is sent to the model, in characters.
const MAX_DESCRIPTION_CHARS: usize = 2_000;
/// Longest tool name that is accepted, in bytes.
const MAX_NAME_BYTES: usize = 256;
/// Most tools of one server that are recorded as set aside.
const MAX_SET_ASIDE: usize = 500;

/// A tool that is not offered, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAsideTool {
    /// Its server.
    pub server: String,
    /// Its name, or its index in the list if it has none: `tools[3]`.
    pub tool: String,
    /// Why.
    pub reason: String,
}

/// What a server offers.
#[derive(Debug, Default)]
pub(super) struct ServerOffer {
    pub(super) tools: Vec<Tool>,
    pub(super) set_aside: Vec<SetAsideTool>,
}

/// The fields of a definition that are used.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct McpToolDefinition {
    name: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    input_schema: Option<Value>,
    #[serde(default)]
    execution: Value,
    #[serde(rename = "_meta", default)]
    meta: Value,
}

/// Turns a list into tools. `executor` returns the executor of the tool with that name.
pub(super) fn read_offer(
    server: &McpServer,
    listing: &UpstreamListing,
    limits: &ClientToolLimits,
    executor: impl Fn(&str) -> ToolExecutor,
) -> ServerOffer {
    let mut offer = ServerOffer::default();
    for (index, item) in listing.items.iter().enumerate() {
        let outcome =
            parse_definition(item).map_err(|why| (format!("tools[{index}]"), why)).and_then(|definition| {
                let name = definition.name.clone();
                match to_client_tool(server, definition, limits) {
                    Ok(tool) => Ok(Tool::new(tool, executor(&name))),
                    Err(why) => Err((name, why)),
                }
            });
        match outcome {
            Ok(tool) => offer.tools.push(tool),
            Err((tool, why)) => offer.put_aside(server, &tool, &why),
        }
    }
    for left_out in &listing.left_out {
        offer.put_aside(server, &left_out.name, &left_out.why);
    }
    if let Some(why) = &listing.incomplete {
        offer.put_aside(server, "(others)", &format!("the list of tools is not complete: {why}"));
    }
    offer
}

impl ServerOffer {
    fn put_aside(&mut self, server: &McpServer, tool: &str, reason: &str) {
        if self.set_aside.len() < MAX_SET_ASIDE {
            let (tool, reason) = (first_chars(tool, MAX_NAME_BYTES), first_chars(reason, 500));
            self.set_aside.push(SetAsideTool { server: server.name.clone(), tool, reason });
        }
    }
}

fn parse_definition(item: &RawValue) -> Result<McpToolDefinition, String> {
    let CleanedJson { cleaned, bad_name, .. } = strip_invisible_json(item);
    if let Some(name) = bad_name {
        return Err(format!("the name `{}` in it has invisible characters", first_chars(&name, 80)));
    }
    let item = cleaned.as_deref().unwrap_or(item);
    serde_json::from_str(item.get()).map_err(|error| format!("it is not a valid tool definition: {error}"))
}

fn to_client_tool(
    server: &McpServer,
    definition: McpToolDefinition,
    limits: &ClientToolLimits,
) -> Result<ClientTool, String> {
    let name = &definition.name;
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(format!("its name is empty or longer than {MAX_NAME_BYTES} bytes"));
    }
    if let Some(why) = server.exclusion_reason(name) {
        return Err(why.to_owned());
    }
    if definition.execution["taskSupport"] == "required" {
        return Err("it can only be run as a task, which this client does not support".to_owned());
    }
    let visible = definition.meta["ui"]["visibility"].as_array();
    if visible.is_some_and(|to| !to.iter().any(|who| who == "model")) {
        return Err("its server shows it to user interfaces only, not to models".to_owned());
    }
    let text =
        [definition.description, definition.title].into_iter().flatten().find(|text| !text.trim().is_empty());
    let description =
        text.unwrap_or_else(|| format!("The tool `{name}` of the MCP server `{}`.", server.name));
    let parameters = schema::inline_references(
        &definition.input_schema.unwrap_or_else(|| Value::Object(Default::default())),
    )?;
    let tool = ClientTool {
        name: tool_name(&server.name, name),
        description: first_chars(&description, MAX_DESCRIPTION_CHARS),
        parameters,
    };
    let not_reserved = |_: &str| false;
    check_client_tools(std::slice::from_ref(&tool), limits, not_reserved)
        .map_err(|problem| problem.message)?;
    Ok(tool)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use toolyard_mcp_client::RejectedTool;
    use toolyard_protocol::raw::to_raw;

    use super::*;

    fn offer(items: Vec<Value>) -> ServerOffer {
        let items = items.iter().map(to_raw).collect();
        let left_out = vec![RejectedTool { name: "void".to_owned(), why: "a bad header".to_owned() }];
        let listing = UpstreamListing {
            items,
            incomplete: Some("too many".to_owned()),
            left_out,
            ..UpstreamListing::default()
        };
        let mut server = McpServer::url("s", "https://x");
        server.exclude = vec!["hidden".to_owned()];
        let executor = |_: &str| -> ToolExecutor { Arc::new(|_, _| Box::pin(async { Ok(Value::Null) })) };
        read_offer(&server, &listing, &ClientToolLimits::default(), executor)
    }

    #[test]
    fn invisible_characters_are_removed() {
        let offer = offer(vec![
            json!({ "name": "a", "description": "Does\u{e0041}\u{200b} a.", "inputSchema": { "type": "object",
                "properties": { "x": { "type": "string", "description": "\u{202e}x" } } } }),
            json!({ "name": "b", "inputSchema": { "type": "object", "properties": { "x\u{200b}": {} } } }),
        ]);
        assert_eq!(offer.tools.len(), 1);
        let tool = offer.tools[0].definition();
        assert_eq!(
            (tool.description.as_str(), &tool.parameters["properties"]["x"]["description"]),
            ("Does a.", &json!("x"))
        );
        assert!(offer.set_aside.iter().any(|lost| lost.reason.contains("invisible")));
    }

    #[test]
    fn tools_of_a_list_are_offered() {
        let offer = offer(vec![
            json!({ "name": "a", "description": "Does a.", "inputSchema": { "type": "object", "properties": {
                "x": { "$ref": "#/$defs/x" } }, "$defs": { "x": { "type": "string" } } }, "vendor": 1 }),
            json!({ "name": "b-c", "title": "B and C" }),
            json!({ "name": "d", "description": " ", "inputSchema": {} }),
        ]);
        let offered: Vec<_> =
            offer.tools.iter().map(|tool| (tool.name(), tool.definition().description.as_str())).collect();
        assert_eq!(offered[0], ("mcp_s_a", "Does a."));
        assert!(offered[1].0.starts_with("mcp_s_b_c_") && offered[1].1 == "B and C", "{offered:?}");
        assert_eq!(offered[2], ("mcp_s_d", "The tool `d` of the MCP server `s`."));
        assert_eq!(
            offer.tools[0].definition().parameters["properties"],
            json!({ "x": { "type": "string" } })
        );
    }

    #[test]
    fn one_bad_tool_does_not_affect_the_others() {
        let deep = (0..9).fold(json!({}), |inside, _| json!({ "type": "array", "items": inside }));
        let with = |name: &str, schema: Value| json!({ "name": name, "inputSchema": schema });
        let offer = offer(vec![
            json!(5),
            json!({ "description": "no name" }),
            with("text", json!({ "type": "string" })),
            with("tree", json!({ "type": "object", "properties": { "x": { "$ref": "#" } } })),
            with("deep", json!({ "type": "object", "properties": { "x": deep } })),
            with("dynamic", json!({ "type": "object", "$dynamicRef": "#x" })),
            with("date", json!({ "type": "object", "properties": { "x": { "type": "date" } } })),
            with("list", json!([])),
            json!({ "name": "task", "execution": { "taskSupport": "required" } }),
            json!({ "name": "ui", "_meta": { "ui": { "visibility": ["app"] } } }),
            json!({ "name": "hidden" }),
            json!({ "name": "" }),
            json!({ "name": "good", "_meta": { "ui": { "visibility": ["model", "app"] } } }),
        ]);
        assert_eq!(offer.tools.iter().map(Tool::name).collect::<Vec<_>>(), ["mcp_s_good"]);
        let reason = |tool: &str| {
            let found = offer.set_aside.iter().find(|aside| aside.tool == tool);
            found.unwrap_or_else(|| panic!("{tool}: {:?}", offer.set_aside)).reason.as_str()
        };
        for (tool, words) in [
            ("tools[0]", "not a valid tool definition"),
            ("tools[1]", "missing field `name`"),
            ("text", "expected `object`"),
            ("tree", "refers to itself"),
            ("deep", "deeper than 8"),
            ("dynamic", "references are not supported"),
            ("date", "x.type: expected one of"),
            ("list", "expected `object`"),
            ("task", "only be run as a task"),
            ("ui", "not to models"),
            ("hidden", "exclude it"),
            ("", "name is empty"),
            ("void", "a bad header"),
            ("(others)", "not complete: too many"),
        ] {
            assert!(reason(tool).contains(words), "{tool}: {}", reason(tool));
        }
    }

    #[test]
    fn long_texts_are_cut_and_the_list_of_what_is_set_aside_is_bounded() {
        let long = offer(vec![json!({ "name": "a", "description": "x".repeat(3_000) })]);
        assert_eq!(long.tools[0].definition().description.chars().count(), MAX_DESCRIPTION_CHARS + 1);
        assert_eq!(offer(vec![json!(5); 600]).set_aside.len(), MAX_SET_ASIDE);
        let named = offer(vec![json!({ "name": "n".repeat(MAX_NAME_BYTES + 1) })]);
        assert!(named.tools.is_empty() && named.set_aside[0].reason.contains("longer than 256"));
    }
}
