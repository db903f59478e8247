//! Tools with unusable schemas are not offered: what is listed can be called.

use serde_json::{Value, json};
use toolyard_core::pinning::PinMode;
use toolyard_testkit::{
    AppBehavior,
    upstream::{OfferListKind, UpstreamEra},
};

use crate::{
    platform::{ECHO, Platform},
    plugins,
    upstreams::world::{add, hidden, live, names, plain, refresh, tool},
};

/// A chain of definitions that each refer to the next one twice: 2^30 paths.
fn exploding() -> Value {
    let mut schema =
        json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d0" } }, "$defs": {} });
    for at in 0..30 {
        let next = json!({ "$ref": format!("#/$defs/d{}", at + 1) });
        schema["$defs"][format!("d{at}")] = json!({ "anyOf": [next, next] });
    }
    schema["$defs"]["d30"] = json!({ "type": "string" });
    schema
}

#[tokio::test]
async fn tools_of_upstreams_with_schemas_that_are_too_costly_are_hidden() {
    let p = Platform::with(|config| config.definitions.upstreams = PinMode::Note).await;
    let upstream = plain(UpstreamEra::Both).await;
    let (mut input, mut output) = (tool("input"), tool("output"));
    input["inputSchema"] = exploding();
    output["outputSchema"] = exploding();
    upstream.set_list(OfferListKind::Tools, vec![input, tool("good"), output]);
    let status = add(&p, "up", &upstream.url()).await;
    assert_eq!(status["setAside"].as_array().unwrap().len(), 2, "the owner sees them: {status}");
    let ada = live(&p, "ada").await;
    assert_eq!(ada.tools().await, ["mcp.up:good"]);
    assert_eq!(names(&ada, "tools/list").await, ["mcp_up__good"]);
    for name in ["input", "output"] {
        let name = format!("mcp.up:{name}");
        let reason = hidden(&ada, &name).await;
        assert!(reason.contains("cannot be called") && reason.contains("100000 steps"), "{reason}");
        assert_eq!(ada.call(&name, json!({})).await.expect(404).code(), "TOOL_NOT_FOUND");
    }
    ada.call("mcp.up:good", json!({})).await.expect(200);
    // After it is fixed, it is listed.
    upstream.set_list(OfferListKind::Tools, vec![tool("input")]);
    refresh(&p, "up").await;
    assert_eq!(ada.tools().await, ["mcp.up:input"]);
}

#[tokio::test]
async fn tools_of_plugins_with_schemas_that_cannot_be_compiled_are_hidden() {
    let p = Platform::with(plugins::curating).await;
    let _device = p.device("ada").await;
    let mut manifest = plugins::plugin("com.example.x", "bad", "return 1;");
    // References are refused in plugins earlier; a pattern is compiled only here.
    manifest["tools"][0]["parameters"] =
        json!({ "type": "object", "properties": { "a": { "type": "string", "pattern": "(" } } });
    let mut good = manifest["tools"][0].clone();
    (good["name"], good["parameters"]) = (json!("good"), json!({ "type": "object" }));
    manifest["tools"].as_array_mut().unwrap().push(good);
    let ada = p.user("ada");
    plugins::install(&ada, &plugins::signed(&manifest, 1)).await.expect(201);
    assert_eq!(ada.tools().await, ["plugin.com.example.x:good"]);
    let reason = hidden(&ada, "plugin.com.example.x:bad").await;
    assert!(reason.contains("cannot be called") && reason.contains("inputSchema"), "{reason}");
    let call = ada.call("plugin.com.example.x:bad", json!({})).await;
    assert_eq!(call.expect(404).code(), "TOOL_NOT_FOUND");
}

/// A schema and a value whose validation takes longer than a small limit.
fn slow(member: &str) -> (Value, Value) {
    let choices: Vec<Value> = (0..200).map(|at| json!({ "const": 1_000 + at })).collect();
    let schema = json!({ "type": "object", "properties": {
        member: { "type": "array", "items": { "anyOf": choices } } } });
    // Each item fits the last choice only, so that all of them are tried.
    (schema, json!({ member: vec![1_199; 100_000] }))
}

async fn publish(p: &Platform, input: &Value, output: Option<&Value>) {
    let mut tool = json!({ "name": "echo", "description": "Says it", "inputSchema": input });
    if let Some(output) = output {
        tool["outputSchema"] = output.clone();
    }
    p.nobody().post(&format!("/api/apps/{ECHO}/tools"), &json!({ "tools": [tool] })).await.expect(200);
}

#[tokio::test]
async fn a_tool_whose_checks_took_too_long_is_hidden_until_it_changes() {
    let p = Platform::with(|config| config.calls.check_timeout_ms = 1).await;
    let (app, _device) = p.echo().await;
    let ada = p.user("ada");
    let name = format!("{ECHO}:echo");
    let (schema, value) = slow("arguments_that_take_long");
    publish(&p, &schema, None).await;
    let late = ada.call(&name, value).await.expect(503);
    assert!(late.code() == "APP_NOT_AVAILABLE" && late.text.contains("take too long"), "{}", late.text);
    assert!(ada.tools().await.is_empty());
    let reason = hidden(&ada, &name).await;
    assert!(reason.contains("inputSchema") && reason.contains("take too long"), "{reason}");
    assert_eq!(ada.call(&name, json!({})).await.expect(404).code(), "TOOL_NOT_FOUND");
    assert!(app.requests("/tool").is_empty());

    let plain = json!({ "type": "object" });
    publish(&p, &plain, None).await;
    assert_eq!(ada.tools().await, [name.as_str()]);
    ada.call(&name, json!({})).await.expect(200);

    let (schema, value) = slow("results_that_take_long");
    publish(&p, &plain, Some(&schema)).await;
    app.set_behavior(AppBehavior::Json(
        200,
        json!({ "success": true, "content": "x", "structuredContent": value }),
    ));
    let unchecked = ada.call(&name, json!({})).await.expect(502);
    assert_eq!(unchecked.code(), "INVALID_RESPONSE", "{}", unchecked.text);
    assert!(hidden(&ada, &name).await.contains("outputSchema"));
    // Read again, it is still hidden.
    p.nobody().patch(&format!("/api/apps/{ECHO}"), &json!({ "name": "Echo 2" })).await.expect(200);
    assert!(ada.tools().await.is_empty());
}
