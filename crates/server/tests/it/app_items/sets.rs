//! Registration of prompts and resources: validated as a whole, in one version with the tools, unchanged.

use http::Method;
use serde_json::{Value, json};

use super::{PLANNER, TOOLS, items, planner, with};
use crate::platform::{Platform, echo_tool};

const VERSIONS: &str = "/api/apps/com.example.planner/versions";

async fn publish(p: &Platform, set: Value) -> u64 {
    p.nobody().post(TOOLS, &set).await.expect(200).json()["version"].as_u64().unwrap()
}

fn places(error: &Value) -> Vec<String> {
    let problems = error["error"]["problems"].as_array().unwrap().iter();
    problems.map(|problem| problem["path"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_bad_definition_changes_nothing_and_every_problem_is_named() {
    let p = Platform::start().await;
    let (_app, _) = planner(&p, json!({})).await;
    let bad = json!({
        "tools": [{ "name": "t" }],
        "prompts": [{ "name": "a:b" }, { "name": "p", "arguments": [{}] }],
        "resources": [{ "uri": "todo://list", "name": "L" }, { "uri": "todo://list", "name": "L" }, 5],
        "resourceTemplates": [{ "uriTemplate": "{x}", "name": "One" }],
    });
    let paths = [
        "tools[0].inputSchema",
        "prompts[0].name",
        "prompts[1].arguments[0].name",
        "resources[1].uri",
        "resources[2]",
        "resourceTemplates[0].uriTemplate",
    ];
    assert_eq!(places(&p.nobody().post(TOOLS, &bad).await.expect(400).json()), paths);
    let new = with(json!({ "packageName": "com.example.new" }), &bad);
    assert_eq!(places(&p.nobody().post("/api/apps", &new).await.expect(400).json()), paths);
    assert_eq!(p.nobody().get(TOOLS).await.json(), with(json!({ "version": 1, "tools": [] }), &items()));
    for odd in [
        json!({ "tools": [], "prompts": {} }),
        json!({ "tools": [], "resources": null }),
        json!({ "prompts": [] }),
    ] {
        p.nobody().post(TOOLS, &odd).await.expect(400);
    }
}

#[tokio::test]
async fn prompts_and_resources_have_limits() {
    let p = Platform::with(|config| config.server.tool_set_bytes = 300_000).await;
    let (_app, _) = planner(&p, json!({})).await;
    let many: Vec<_> = (0..1_001).map(|i| json!({ "uri": format!("a://{i}"), "name": "n" })).collect();
    let refused = p.nobody().post(TOOLS, &json!({ "tools": [], "resources": many })).await.expect(400);
    assert_eq!(places(&refused.json()), ["resources"]);
    publish(&p, json!({ "tools": [], "resources": many[..1_000] })).await;
    let long = json!([{ "name": "p", "description": "x".repeat(8 * 1024 + 1) }]);
    let refused = p.nobody().post(TOOLS, &json!({ "tools": [], "prompts": long })).await.expect(400);
    assert_eq!(places(&refused.json()), ["prompts[0].description"]);
    let huge = json!([{ "name": "p", "x": "x".repeat(300_000) }]);
    p.nobody().post(TOOLS, &json!({ "tools": [], "prompts": huge })).await.expect(413);
}

#[tokio::test]
async fn one_version_holds_all_items_and_an_unchanged_set_adds_none() {
    let p = Platform::start().await;
    let (_app, _) = planner(&p, json!({})).await;
    assert_eq!(publish(&p, with(json!({ "tools": [] }), &items())).await, 1);
    let tools = json!({ "tools": [echo_tool()] });
    assert_eq!(publish(&p, tools.clone()).await, 2);
    assert_eq!(publish(&p, with(tools.clone(), &json!({ "prompts": [], "resources": [] }))).await, 2);
    // The same definition in another list is another set.
    let (prompt, resource) =
        (json!([{ "name": "x", "uri": "a://b" }]), json!([{ "name": "x", "uri": "a://b" }]));
    assert_eq!(publish(&p, with(tools.clone(), &json!({ "prompts": prompt }))).await, 3);
    assert_eq!(publish(&p, with(tools, &json!({ "resources": resource }))).await, 4);

    let raw = r#"{"tools":[],"prompts":[{"name":"p", "n":1.50}],"resourceTemplates":[{"uriTemplate":"a://{x}","name":"n","k":[1, 2]}]}"#;
    p.nobody().send(Method::POST, TOOLS, Some(raw.to_owned())).await.expect(200);
    let stored = format!(r#"{{"version":5,{}"#, raw.strip_prefix('{').unwrap());
    assert_eq!(p.nobody().get(TOOLS).await.text, stored);
    let p = p.restart().await;
    assert_eq!(p.nobody().get(TOOLS).await.text, stored);
    assert_eq!(p.nobody().get(&format!("{VERSIONS}/5")).await.text, stored);
    assert_eq!(p.nobody().get(&format!("/api/apps/{PLANNER}")).await.json()["toolCount"], 0);
}

#[tokio::test]
async fn versions_can_be_compared_and_a_rollback_restores_all_items() {
    let p = Platform::start().await;
    let (_app, _) = planner(&p, json!({})).await;
    let second = json!({
        "tools": [echo_tool()],
        "prompts": [{ "name": "plan_day", "description": "Plans well" }, { "name": "plan_week" }],
        "resources": [{ "name": "List", "mimeType": "text/plain", "uri": "todo://list" }],
    });
    assert_eq!(publish(&p, second).await, 2);
    let diff = p.nobody().get(&format!("{VERSIONS}/1/diff/2")).await.expect(200).json();
    assert_eq!(
        diff,
        json!({
            "added": ["echo"], "removed": [], "changed": [],
            "prompts": { "added": ["plan_week"], "removed": [],
                "changed": [{ "name": "plan_day", "fields": ["arguments", "description"] }] },
            "resourceTemplates": { "added": [], "removed": ["todo://item/{id}"], "changed": [] },
        })
    );
    p.nobody().post(&format!("{VERSIONS}/1/activate"), &json!({})).await.expect(200);
    assert_eq!(p.nobody().get(TOOLS).await.json(), with(json!({ "version": 1, "tools": [] }), &items()));
    let listed = p.user("ada").modern("prompts/list", json!({})).await.result();
    assert_eq!(listed["prompts"].as_array().unwrap().len(), 1);
}
