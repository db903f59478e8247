//! Checks a tool set without storing it.

use serde_json::{Value, json};
use toolyard_server::auth::Role;

use crate::{
    identity::app_of,
    platform::{ECHO, Person, Platform, echo_tool, tokens_only},
};

const PATH: &str = "/api/apps/com.example.echo/tools/check";

async fn checked(who: &Person<'_>, body: Value) -> Value {
    who.post(PATH, &body).await.expect(200).json()
}

#[tokio::test]
async fn a_good_set_is_shown_as_models_see_it_and_nothing_is_stored() {
    let p = Platform::with(tokens_only).await;
    let (_app, key) = app_of(&p, "dora", ECHO).await;
    let dora = p.bearer(&p.token("dora", Role::Developer));
    let untold = json!({ "name": "untold", "title": "Untold", "inputSchema": { "type": "object",
        "oneOf": [{ "required": ["a"] }, { "required": ["b"] }],
        "properties": { "a": { "type": "string", "pattern": "^x" }, "b": { "type": "string" } } } });
    let found = checked(&dora, json!({ "tools": [echo_tool(), untold] })).await;
    assert_eq!((&found["ok"], &found["problems"]), (&json!(true), &json!([])));
    assert_eq!(
        found["tools"][0],
        json!({ "name": "echo", "canonicalName": "com.example.echo:echo", "alias": "com_example_echo__echo",
            "model": { "name": "com_example_echo__echo", "description": "Says it again",
                "parameters": echo_tool()["inputSchema"] } })
    );
    let model = &found["tools"][1]["model"];
    assert!(model["description"].as_str().unwrap().starts_with("Untold"), "{model}");
    assert!(model["parameters"].get("oneOf").is_none(), "what vendors refuse is said in words: {model}");
    let versions = dora.get(&format!("/api/apps/{ECHO}/versions")).await.expect(200).json();
    assert_eq!(versions["versions"].as_array().unwrap().len(), 1, "stored nothing");
    // The app itself may check, too.
    assert_eq!(checked(&p.bearer(&key), json!({ "tools": [echo_tool()] })).await["ok"], true);
    assert_eq!(
        checked(&dora, json!({ "tools": [] })).await,
        json!({ "ok": true, "problems": [], "tools": [] })
    );
}

#[tokio::test]
async fn a_tool_check_reports_problems_and_valid_tools() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let bad = json!({ "name": "no spaces", "inputSchema": { "type": "array" } });
    let found = checked(&p.nobody(), json!({ "tools": [bad, echo_tool()], "prompts": [{}] })).await;
    assert_eq!(found["ok"], false);
    let problems = found["problems"].as_array().unwrap();
    assert!(
        problems.iter().any(|problem| problem["path"].as_str().unwrap().starts_with("tools[0]")),
        "{found}"
    );
    assert!(
        problems.iter().any(|problem| problem["path"].as_str().unwrap().starts_with("prompts[0]")),
        "{found}"
    );
    let names: Vec<_> = found["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["echo"]);
    // The same problems that publishing finds.
    let (path, body) =
        (format!("/api/apps/{ECHO}/tools"), json!({ "tools": [bad, echo_tool()], "prompts": [{}] }));
    let published = p.nobody().post(&path, &body).await;
    assert_eq!(published.expect(400).json()["error"]["problems"], found["problems"]);
    let twice = checked(&p.nobody(), json!({ "tools": [echo_tool(), echo_tool()] })).await;
    assert_eq!((&twice["ok"], twice["problems"].as_array().unwrap().len()), (&json!(false), 1));
}

#[tokio::test]
async fn a_tool_that_no_model_can_use_is_reported_and_accepted() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    // Vendors accept no references; expanded, this schema is longer than a vendor accepts.
    let words: Vec<String> = (0..50).map(|number| format!("{number:0100}")).collect();
    let properties: serde_json::Map<_, _> =
        (0..20).map(|number| (format!("p{number}"), json!({ "$ref": "#/$defs/words" }))).collect();
    let endless = json!({ "name": "endless", "inputSchema": { "type": "object", "properties": properties,
        "$defs": { "words": { "enum": words } } } });
    let found = checked(&p.nobody(), json!({ "tools": [endless] })).await;
    let problem = &found["problems"][0];
    assert_eq!((&found["ok"], &problem["path"]), (&json!(true), &json!("tools[0]")), "{problem}");
    assert!(problem["message"].as_str().unwrap().starts_with("models do not get this tool"), "{problem}");
    assert_eq!(found["tools"][0]["model"]["parameters"], endless["inputSchema"], "as it is");
    p.nobody().post(&format!("/api/apps/{ECHO}/tools"), &json!({ "tools": [endless] })).await.expect(200);
}

#[tokio::test]
async fn tools_and_problems_of_a_check_are_limited() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let many: Vec<Value> =
        (0..1_001).map(|n| json!({ "name": format!("t{n}"), "inputSchema": { "type": "object" } })).collect();
    let found = checked(&p.nobody(), json!({ "tools": many })).await;
    assert_eq!((&found["ok"], found["tools"].as_array().unwrap().len()), (&json!(false), 1_000));
    let bad = vec![json!({}); 500];
    assert_eq!(
        checked(&p.nobody(), json!({ "tools": bad })).await["problems"].as_array().unwrap().len(),
        100
    );
}

#[tokio::test]
async fn a_tool_check_requires_the_owner_of_the_app() {
    let p = Platform::with(tokens_only).await;
    let (_app, _) = app_of(&p, "dora", ECHO).await;
    let body = json!({ "tools": [] });
    p.nobody().post(PATH, &body).await.expect(401);
    p.bearer(&p.token("ada", Role::User)).post(PATH, &body).await.expect(403);
    p.bearer(&p.token("mal", Role::Developer)).post(PATH, &body).await.expect(404);
    let dora = p.bearer(&p.token("dora", Role::Developer));
    dora.post("/api/apps/com.example.none/tools/check", &body).await.expect(404);
    dora.post(PATH, &json!({ "tools": 1 })).await.expect(400);
    p.bearer(&p.token("root", Role::Operator)).post(PATH, &body).await.expect(200);
}
