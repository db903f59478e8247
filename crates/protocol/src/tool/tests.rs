use serde_json::{Value, json, value::RawValue};

use super::*;
use crate::{problem::Problem, raw::to_raw};

fn read(tool: &Value) -> Result<ToolDefinition, Vec<Problem>> {
    ToolDefinition::parse(&to_raw(tool), "tools[0]")
}

fn paths(result: Result<ToolDefinition, Vec<Problem>>) -> Vec<String> {
    result.unwrap_err().into_iter().map(|p| p.path).collect()
}

#[test]
fn mcp_clients_see_alias_canonical_name_and_mapped_pages() {
    let text = r#"{"name":"a","inputSchema":{"type":"object"},"execution":{"x" :1},"_meta":{"k":1,"ui":{"resourceUri":"ui://w","v":2},"openai/outputTemplate":"ui://w"}}"#;
    let tool = ToolDefinition::parse(&serde_json::from_str::<Box<RawValue>>(text).unwrap(), "t").unwrap();
    let listed = tool.listed_for_mcp(&"mcp.x:a".parse().unwrap(), |uri| Some(format!("{uri}!")));
    assert_eq!(
        listed.get(),
        r#"{"name":"mcp_x__a","inputSchema":{"type":"object"},"execution":{"x" :1},"_meta":{"toolyard/name":"mcp.x:a","k":1,"ui":{"resourceUri":"ui://w!","v":2},"openai/outputTemplate":"ui://w!"}}"#
    );
    let tool = tool.with_name("b".parse().unwrap()).with_category(Category::Media);
    assert!(tool.to_raw().get().starts_with(r#"{"mentraExtensions":{"category":"media"},"name":"b""#));
    assert_eq!(tool.with_category(Category::Utility).category(), Category::Media);
}

#[test]
fn keeps_what_it_does_not_know_as_it_came() {
    let text = r#"{"name":"a","x-new":{"n":1.0},"inputSchema":{"type":"object","$comment":"hm"},"_meta":{"k":[1, 2]}}"#;
    let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
    let tool = ToolDefinition::parse(&raw, "tool").unwrap();
    assert_eq!(tool.to_raw().get(), text);
    let name = "com.ex:a".parse().unwrap();
    assert_eq!(tool.listed_as(&name).get(), text.replacen(r#""a""#, r#""com.ex:a""#, 1));
}

#[test]
fn invisible_characters_do_not_reach_a_model() {
    let text = r#"{"name":"a","title":"T\u202e","description":"Adds\udb40\udc41 one","inputSchema":{"type":"object","properties":{"k":{"enum":["x\u200b"],"description":"\u2066d"}}}}"#;
    let tool = ToolDefinition::parse(&serde_json::from_str::<Box<RawValue>>(text).unwrap(), "t").unwrap();
    assert_eq!((tool.invisible_chars, tool.description.as_str()), (4, "Adds one"));
    assert_eq!(
        tool.to_raw().get(),
        r#"{"name":"a","title":"T","description":"Adds one","inputSchema":{"type":"object","properties":{"k":{"enum":["x"],"description":"d"}}}}"#
    );
    assert_eq!(tool.input_schema()["properties"]["k"]["enum"][0], "x");
    let tool = json!({ "name": "a", "inputSchema": { "type": "object", "properties": { "a\u{200b}": {} } } });
    assert!(read(&tool).unwrap_err()[0].message.contains("`a` in it has invisible"));
}

#[test]
fn names_every_problem_at_once() {
    let tool = json!({
        "name": "a:b", "description": 3, "title": [], "outputSchema": true,
        "inputSchema": { "type": "array" },
        "mentraExtensions": { "category": "fun", "activationPhrases": "x" },
    });
    assert_eq!(
        paths(read(&tool)),
        [
            "tools[0].name",
            "tools[0].description",
            "tools[0].title",
            "tools[0].outputSchema",
            "tools[0].inputSchema.type",
            "tools[0].mentraExtensions.category",
            "tools[0].mentraExtensions.activationPhrases",
        ]
    );
}

#[test]
fn the_least_that_is_a_tool() {
    assert_eq!(paths(read(&json!({}))), ["tools[0].name", "tools[0].inputSchema"]);
    assert_eq!(paths(read(&json!("x"))), ["tools[0]"]);
    assert!(read(&json!({ "name": "a", "inputSchema": { "type": "object" } })).is_ok());
}

#[test]
fn phrases_come_plain_or_by_language() {
    let mut tool = json!({ "name": "a", "inputSchema": { "type": "object" },
        "mentraExtensions": { "activationPhrases": ["remind me"] } });
    assert_eq!(read(&tool).unwrap().extensions.activation_phrases.unwrap().phrases().count(), 1);
    tool["mentraExtensions"]["activationPhrases"] = json!({ "en": ["remind me"], "de": ["erinnere mich"] });
    assert_eq!(read(&tool).unwrap().extensions.activation_phrases.unwrap().phrases().count(), 2);
}

#[test]
fn every_bound_is_kept() {
    let base = json!({ "name": "a", "inputSchema": { "type": "object" } });
    let with = |key: &str, value: Value| {
        let mut tool = base.clone();
        tool[key] = value;
        tool
    };
    let long = with("description", "x".repeat(MAX_DESCRIPTION_BYTES + 1).into());
    assert_eq!(paths(read(&long)), ["tools[0].description"]);
    let huge = with("_meta", json!({ "x": "x".repeat(MAX_DEFINITION_BYTES) }));
    assert_eq!(paths(read(&huge)), ["tools[0]"]);
    let many = with("mentraExtensions", json!({ "activationPhrases": vec!["x"; MAX_PHRASES + 1] }));
    assert_eq!(paths(read(&many)), ["tools[0].mentraExtensions.activationPhrases"]);
    let wide = with("mentraExtensions", json!({ "activationPhrases": ["x".repeat(MAX_PHRASE_BYTES + 1)] }));
    assert_eq!(paths(read(&wide)), ["tools[0].mentraExtensions.activationPhrases"]);
    let set = vec![to_raw(&base); MAX_TOOLS + 1];
    assert_eq!(ToolDefinition::parse_set(&set).unwrap_err()[0].path, "tools");
    let bad = vec![to_raw(&json!({})); MAX_TOOLS];
    assert_eq!(ToolDefinition::parse_set(&bad).unwrap_err().len(), MAX_PROBLEMS);
}

#[test]
fn a_set_has_each_name_once() {
    let tool = to_raw(&json!({ "name": "a", "inputSchema": { "type": "object" } }));
    let problems = ToolDefinition::parse_set(&[tool.clone(), tool]).unwrap_err();
    assert_eq!(problems[0].to_string(), "tools[1].name: `a` is defined twice");
}
