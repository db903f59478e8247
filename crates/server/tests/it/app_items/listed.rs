//! Lists of prompts and resources, and who sees them.

use http::Method;
use serde_json::{Value, json};

use super::{PLANNER, TOOLS, both, contents, items, planner, with};
use crate::platform::{Platform, echo_tool};

const LISTS: [(&str, &str); 3] = [
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
];

/// The lists of a user, one after the other.
async fn lists(p: &Platform, user: &str) -> Vec<Value> {
    let mut all = Vec::new();
    for (method, member) in LISTS {
        all.push(p.user(user).modern(method, json!({})).await.result()[member].clone());
    }
    all
}

#[tokio::test]
async fn both_eras_list_the_items_of_the_app_unchanged() {
    let p = Platform::start().await;
    let (_app, _) = planner(&p, json!({})).await;
    let raw = r#"{"tools":[],"prompts":[{"name":"plan_day", "x-new":{"n":1.50}}],"resources":[{"size":7.0,"uri":"todo://list","name":"L","_meta":{"k" :1}}],"resourceTemplates":[{"name":"One","uriTemplate":"todo://item/{id}","y":[1, 2]}]}"#;
    p.nobody().send(Method::POST, TOOLS, Some(raw.to_owned())).await.expect(200);
    for ((method, member), listed) in LISTS.into_iter().zip([
        r#"{"_meta":{"toolyard/name":"com.example.planner:plan_day"},"name":"com_example_planner__plan_day","x-new":{"n":1.50}}"#,
        r#"{"size":7.0,"uri":"todo://com.example.planner/list","name":"L","_meta":{"k" :1}}"#,
        r#"{"name":"One","uriTemplate":"todo://com.example.planner/item/{id}","y":[1, 2]}"#,
    ]) {
        for answer in both(&p, method, json!({})).await {
            assert!(answer.text.contains(&format!(r#""{member}":[{listed}]"#)), "{method}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn items_are_listed_only_for_users_who_installed_the_app() {
    let p = Platform::start().await;
    let (app, _) = planner(&p, json!({})).await;
    assert!(lists(&p, "ada").await.iter().all(|list| list.as_array().unwrap().len() == 1));
    assert_eq!(lists(&p, "bob").await, vec![json!([]); 3]);
    let uri = json!({ "uri": "todo://com.example.planner/list" });
    assert_eq!(p.user("bob").modern("resources/read", uri).await.refusal(), (200, -32602));
    let name = json!({ "name": "com.example.planner:plan_day" });
    assert_eq!(p.user("bob").modern("prompts/get", name).await.refusal(), (200, -32602));
    p.user("ada").delete(&format!("/api/installs/{PLANNER}")).await.expect(204);
    assert_eq!(lists(&p, "ada").await, vec![json!([]); 3]);
    assert!(app.requests("/prompt").is_empty() && app.requests("/resource").is_empty());
}

#[tokio::test]
async fn an_incompatible_device_hides_the_items() {
    let p = Platform::start().await;
    let camera = json!({ "hardwareRequirements": [{ "type": "CAMERA", "level": "REQUIRED" }] });
    let (app, _) = planner(&p, camera).await;
    let mut device = p.device("ada").await;
    device.wears("Even Realities G1").await;
    assert_eq!(lists(&p, "ada").await, vec![json!([]); 3]);
    for uri in ["todo://com.example.planner/list", "todo://com.example.planner/item/7", "todo://list"] {
        for (answer, code) in
            both(&p, "resources/read", json!({ "uri": uri })).await.iter().zip([-32602, -32002])
        {
            assert_eq!(answer.refusal(), (200, code), "{uri}: {}", answer.text);
        }
    }
    for answer in both(&p, "prompts/get", json!({ "name": "com_example_planner__plan_day" })).await {
        assert_eq!(answer.refusal(), (200, -32602), "{}", answer.text);
    }
    assert!(app.requests("/prompt").is_empty() && app.requests("/resource").is_empty());
    device.wears("Mentra Live").await;
    app.set_behavior(contents("todo://list"));
    p.user("ada")
        .modern("resources/read", json!({ "uri": "todo://com.example.planner/list" }))
        .await
        .result();
}

#[tokio::test]
async fn pages_of_a_tool_are_mapped_where_the_app_has_resources() {
    let p = Platform::start().await;
    let (app, _) = planner(&p, json!({})).await;
    let mut tool = echo_tool();
    tool["_meta"] = json!({ "ui": { "resourceUri": "ui://page" }, "openai/outputTemplate": "ui://page" });
    let page = json!({ "uri": "ui://page", "name": "Page", "mimeType": "text/html;profile=mcp-app" });
    let set = json!({ "tools": [tool], "resources": [page] });
    p.nobody().post(TOOLS, &set).await.expect(200);
    let listed = p.user("ada").modern("tools/list", json!({})).await.result();
    let about = &listed["tools"][0]["_meta"];
    let mapped = json!("ui://com.example.planner/page");
    assert_eq!((&about["ui"]["resourceUri"], &about["openai/outputTemplate"]), (&mapped, &mapped));
    app.set_behavior(contents("ui://page"));
    let read = p.user("ada").modern("resources/read", json!({ "uri": mapped })).await.result();
    assert_eq!(
        (&read["contents"][0]["uri"], &app.requests("/resource")[0].body["uri"]),
        (&mapped, &json!("ui://page"))
    );

    // Without resources nothing could be read under another name.
    p.nobody().post(TOOLS, &json!({ "tools": [tool] })).await.expect(200);
    let listed = p.user("ada").modern("tools/list", json!({})).await.result();
    assert_eq!(listed["tools"][0]["_meta"]["ui"]["resourceUri"], "ui://page");
}

#[tokio::test]
async fn a_new_version_notifies_listeners() {
    let p = Platform::with(|config| config.mcp.debounce_ms = 1).await;
    let (_app, _) = planner(&p, json!({})).await;
    let mut prompts = p.user("ada").listen("p", json!({ "promptsListChanged": true })).await;
    let mut resources = p.user("ada").listen("r", json!({ "resourcesListChanged": true })).await;
    let mut other = items();
    other["prompts"][0]["description"] = "Plans well".into();
    p.nobody().post(TOOLS, &with(json!({ "tools": [] }), &other)).await.expect(200);
    assert_eq!(prompts.message().await["method"], "notifications/prompts/list_changed");
    other["resources"][0]["name"] = "The list".into();
    p.nobody().post(TOOLS, &with(json!({ "tools": [] }), &other)).await.expect(200);
    assert_eq!(resources.message().await["method"], "notifications/resources/list_changed");
    // A rollback restores everything, and both are notified.
    p.nobody().post(&format!("/api/apps/{PLANNER}/versions/1/activate"), &json!({})).await.expect(200);
    assert_eq!(prompts.message().await["method"], "notifications/prompts/list_changed");
    assert_eq!(resources.message().await["method"], "notifications/resources/list_changed");
    let listed = p.user("ada").modern("resources/list", json!({})).await.result();
    assert_eq!(listed["resources"][0]["name"], "List");
}
