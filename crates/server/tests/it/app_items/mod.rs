//! Prompts and resources of apps, from the registration to the MCP client and to the app on the wire.

mod asked;
mod failures;
mod listed;
mod sets;

use serde_json::{Value, json};
use toolyard_testkit::{AppBehavior, FakeApp};

use crate::{
    mcp::client::LEGACY,
    platform::{Answer, Platform},
};

const PLANNER: &str = "com.example.planner";
const TOOLS: &str = "/api/apps/com.example.planner/tools";

/// One of each kind.
fn items() -> Value {
    json!({
        "prompts": [{ "name": "plan_day", "description": "Plans", "arguments": [{ "name": "day", "required": true }] }],
        "resources": [{ "uri": "todo://list", "name": "List", "mimeType": "text/plain" }],
        "resourceTemplates": [{ "uriTemplate": "todo://item/{id}", "name": "One" }],
    })
}

/// A body with these members as well.
fn with(mut body: Value, more: &Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// The app, registered with one of each kind and installed for ada, and the response to the registration.
async fn planner(p: &Platform, details: Value) -> (FakeApp, Value) {
    let app = FakeApp::start(PLANNER).await;
    let body = with(json!({ "packageName": PLANNER, "kind": "tools-only" }), &items());
    let created = p.register(&app, with(body, &details)).await;
    p.user("ada").put(&format!("/api/installs/{PLANNER}"), &json!({})).await.expect(204);
    (app, created)
}

/// Ada sends a request in both eras; the modern response comes first.
async fn both(p: &Platform, method: &str, params: Value) -> [Answer; 2] {
    let session = p.user("ada").handshake(LEGACY).await;
    [p.user("ada").modern(method, params.clone()).await, session.ask(method, params).await]
}

/// Sets the app's response to a prompt.
fn messages() -> AppBehavior {
    let message = json!({ "role": "user", "content": { "type": "text", "text": "Plan it." } });
    AppBehavior::Json(200, json!({ "messages": [message], "description": "A plan" }))
}

/// Sets the app's response to a resource.
fn contents(uri: &str) -> AppBehavior {
    AppBehavior::Json(200, json!({ "contents": [{ "uri": uri, "mimeType": "text/plain", "text": "milk" }] }))
}
